// SPDX-License-Identifier: Apache-2.0

// Package git runs git in a clone.
package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Clone is the root of a working tree.
type Clone struct {
	Root string
	// Env has additional variables, such as GIT_INDEX_FILE.
	Env []string
}

// Run returns git's output without the last line break. The error contains git's error output.
func (c Clone) Run(ctx context.Context, args ...string) (string, error) {
	return c.Pipe(ctx, nil, args...)
}

// Pipe is Run with a standard input.
func (c Clone) Pipe(ctx context.Context, input []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = c.Root, bytes.NewReader(input)
	cmd.Env = append(os.Environ(), c.Env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Lines is Run, split into lines.
func (c Clone) Lines(ctx context.Context, args ...string) ([]string, error) {
	out, err := c.Run(ctx, args...)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}
