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

// Compile builds main packages of this project into folder. It maps each package to its binary.
func Compile(ctx context.Context, folder string, packages ...string) (map[string]string, error) {
	root, err := project.Root()
	if err != nil {
		return nil, err
	}
	built := map[string]string{}
	for _, source := range packages {
		target, err := os.MkdirTemp(folder, "program-")
		if err != nil {
			return nil, err
		}
		target = filepath.Join(target, filepath.Base(source))
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", target, ".")
		cmd.Dir = filepath.Join(root, source)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOTMPDIR="+folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", source, err, out)
		}
		built[source] = target
	}
	return built, nil
}
