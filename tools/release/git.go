// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type repository struct{ root string }

func (r repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func (r repository) lines(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.git(ctx, args...)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}

func (r repository) head(ctx context.Context) (revision string, at time.Time, err error) {
	out, err := r.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return "", time.Time{}, err
	}
	revision, text, _ := strings.Cut(out, " ")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("the time of commit %s: %w", revision, err)
	}
	return revision, time.Unix(seconds, 0).UTC(), nil
}

// describe returns the version that `make build` gives to an operator.
func (r repository) describe(ctx context.Context, operator string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(r.root, "tools", "version"), operator)
	cmd.Dir = r.root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// lastTag returns the newest release tag in the history of HEAD, except the tag "without", or "".
func (r repository) lastTag(ctx context.Context, operator, without string) (string, error) {
	f, err := r.former(ctx, operator, except(without))
	if err != nil || f == nil || f.Baseline {
		return "", err
	}
	return f.String(), nil
}

func (r repository) contains(ctx context.Context, commit string) (bool, error) {
	_, err := r.git(ctx, "merge-base", "--is-ancestor", commit, "HEAD")
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

func except(without string) func(tag, source string) bool {
	return func(tag, _ string) bool { return tag != without }
}
