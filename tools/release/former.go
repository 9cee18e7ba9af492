// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
	"jutsu.com/operators/tools/project/modules"
)

const (
	// baselineFile has the hash of the commit to use if an operator has no release.
	baselineFile = ".ci/baseline"
	// baselineVersion is the version of all modules at the baseline, in a temporary clone.
	baselineVersion = "v0.1.0-rc.1"
)

// former is the release that users have when the next one is made.
type former struct {
	Operator string
	Version  string
	// The tag is not on Commit, but on a commit without replacements in go.mod.
	Commit string
	// Baseline is true if Commit is the baseline, because there is no release yet.
	Baseline bool
}

func (f *former) String() string {
	if f.Baseline {
		return "the baseline " + f.Commit[:min(12, len(f.Commit))]
	}
	return modules.Tag(f.Operator, f.Version)
}

// former returns the newest release that is in the history of HEAD and that the function take
// accepts, or else the baseline, or else nil. It ignores prereleases, because they promise no
// compatibility.
func (r repository) former(ctx context.Context, operator string, take func(tag, source string) bool) (*former, error) {
	tags, err := r.lines(ctx, "tag", "--list", modules.Tag(operator, "v*"), "--sort=-version:refname")
	if err != nil {
		return nil, err
	}
	for _, tag := range tags {
		version := strings.TrimPrefix(tag, operator+"/")
		if semver.Prerelease(version) != "" {
			continue
		}
		source, err := modules.Source(ctx, r.clone(), tag)
		if err != nil {
			return nil, err
		}
		contained, err := r.contains(ctx, source)
		if err != nil {
			return nil, err
		}
		if contained && take(tag, source) {
			return &former{Operator: operator, Version: version, Commit: source}, nil
		}
	}
	return r.baseline(ctx, operator)
}

// before returns the former release, or the baseline if there is none. The checked out commit may
// itself be a release, which before ignores.
func (r repository) before(ctx context.Context, operator string) (*former, error) {
	head, err := modules.Source(ctx, r.clone(), "HEAD")
	if err != nil {
		return nil, err
	}
	f, err := r.former(ctx, operator, func(_, source string) bool { return source != head })
	if err == nil && f == nil {
		err = fmt.Errorf("%s has neither a release (no tag %s/v*) nor a baseline (no %s)", operator, operator, baselineFile)
	}
	return f, err
}

func (r repository) baseline(ctx context.Context, operator string) (*former, error) {
	text, err := os.ReadFile(filepath.Join(r.root, baselineFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	commit := strings.TrimSpace(string(text))
	if _, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}"); err != nil {
		return nil, fmt.Errorf("this clone lacks the commit %q of %s, which %s is compared with: "+
			"fetch it by `git fetch --tags`, or in a shallow clone by `git fetch --unshallow --tags`", commit, baselineFile, operator)
	}
	return &former{Operator: operator, Version: baselineVersion, Commit: commit, Baseline: true}, nil
}

// printFormer also checks out the former release into folder, unless folder is "".
func printFormer(ctx context.Context, r repository, out io.Writer, operator, folder string) error {
	f, err := r.before(ctx, operator)
	if err != nil {
		return err
	}
	if folder != "" {
		if err := r.checkOut(ctx, f, folder); err != nil {
			return fmt.Errorf("check out %s: %w", f, err)
		}
	}
	_, err = fmt.Fprintln(out, f.Version, f.Commit)
	return err
}

// At the baseline, checkOut creates the tags that a release would have.
func (r repository) checkOut(ctx context.Context, f *former, folder string) error {
	scratch := git.Clone{Root: folder, Env: []string{ // git tag needs an identity, and git has none in CI
		"GIT_COMMITTER_NAME=baseline", "GIT_COMMITTER_EMAIL=baseline@example.invalid",
	}}
	if _, err := r.git(ctx, "clone", "--quiet", "--shared", "--no-checkout", "--no-tags", r.root, folder); err != nil {
		return err
	}
	if _, err := scratch.Run(ctx, "checkout", "--quiet", "--detach", f.Commit); err != nil {
		return err
	}
	here, err := r.locate(folder)
	if err != nil || !f.Baseline {
		return err
	}
	release, err := modules.Plan(ctx, scratch, here, modules.Operators, f.Version)
	if err != nil {
		return err
	}
	return release.Create(ctx, scratch)
}

// If the commit has no project.yaml, locate writes one with the commit's module path.
func (r repository) locate(folder string) (location.Location, error) {
	found, err := location.Read(folder)
	if !errors.Is(err, os.ErrNotExist) {
		return found, err
	}
	here, err := location.Read(r.root)
	if err != nil {
		return found, err
	}
	api, err := moduleOf(folder, modules.API)
	if err != nil {
		return found, err
	}
	here.Repo = strings.TrimSuffix(api.Module.Mod.Path, "/"+modules.API)
	text := fmt.Sprintf("repo: %s\nregistry: %s\n", here.Repo, here.Registry)
	return here, os.WriteFile(filepath.Join(folder, location.File), []byte(text), 0o644)
}
