// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
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

// describe returns the version by an operator's own tags, as `make build` does.
func (r repository) describe(ctx context.Context, operator string) (string, error) {
	out, err := r.git(ctx, "describe", "--tags", "--always", "--dirty", "--match", operator+"/*")
	return strings.TrimPrefix(out, operator+"/"), err
}

// lastTag returns the newest release tag of an operator that is an ancestor of HEAD and differs
// from without, or "".
func (r repository) lastTag(ctx context.Context, operator, without string) (string, error) {
	tags, err := r.lines(ctx, "tag", "--list", operator+"/v*", "--merged", "HEAD", "--sort=-version:refname")
	if err != nil {
		return "", err
	}
	for _, tag := range tags {
		if tag != without && semver.Prerelease(strings.TrimPrefix(tag, operator+"/")) == "" { // prereleases promise nothing
			return tag, nil
		}
	}
	return "", nil
}
