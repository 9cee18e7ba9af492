// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"jutsu.com/operators/test/testcluster/project"
)

// CompileFerretDB builds tools/ferretdb, which is outside the Go workspace, into folder.
func CompileFerretDB(ctx context.Context, folder string) (string, error) {
	source, err := project.Path("tools", "ferretdb")
	if err != nil {
		return "", err
	}
	target := filepath.Join(folder, "ferretdb")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags=ferretdb_no_sqlite", "-ldflags=-s -w",
		"-o", target, ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOTMPDIR="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, out)
	}
	return target, nil
}
