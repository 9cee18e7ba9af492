// SPDX-License-Identifier: Apache-2.0

// Package former checks out the last release of an operator before the commit of this checkout, or
// else the commit in .ci/baseline.
package former

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"jutsu.com/operators/test/testcluster/project"
)

// Release is a checked-out release.
type Release struct {
	Version, Commit string
	// Folder is the root of the checkout.
	Folder string
}

// CheckOut checks out the former release of an operator into a new folder.
func CheckOut(ctx context.Context, operator, folder string) (Release, error) {
	r := Release{Folder: folder}
	root, err := project.Root()
	if err != nil {
		return r, err
	}
	program, err := project.Path("bin", "release")
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, program, "former", operator, "--folder="+folder)
	cmd.Dir = root
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("check out the former %s by %s, which `make bin/release` builds: %w: %s",
			operator, program, err, strings.TrimSpace(complaint.String()))
	}
	if n, err := fmt.Sscan(string(out), &r.Version, &r.Commit); n != 2 {
		return r, fmt.Errorf("release former prints %q: %w", out, err)
	}
	return r, nil
}
