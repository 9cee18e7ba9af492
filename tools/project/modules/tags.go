// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
)

// Release is a commit and its tags.
type Release struct {
	// Source is the released commit. Commit is on top of Source, and has the tags.
	Source, Commit string
	// Shared is the version of the shared modules.
	Shared string
	// Tags include the tags of all shared modules if one of them has changed.
	Tags []string
}

// Plan prepares a release of HEAD, but does not create tags. If the shared modules have no tag, or
// one of them has changed since their newest tag, they all get the operators' version, or their own
// next version if the operators' version is not newer than their newest tag, or is above v1.
func Plan(ctx context.Context, c git.Clone, l location.Location, operators []string, version string) (r Release, err error) {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return r, fmt.Errorf("%q is no version: give it as VERSION=v1.2.3", version)
	}
	if tagged, err := Tagged(ctx, c, l); err != nil || tagged {
		return r, errors.Join(err, errors.New("HEAD is the commit of a tag already: check out the branch that it was made from"))
	}
	if r.Source, err = c.Run(ctx, "rev-parse", "HEAD"); err != nil {
		return r, err
	}
	all, err := read(ctx, c, l, r.Source)
	if err != nil {
		return r, err
	}
	newest, err := newestShared(ctx, c)
	if err != nil {
		return r, err
	}
	unchanged := false
	if r.Shared = newest; newest != "" {
		if r.Commit, unchanged, err = sameShared(ctx, c, l, r.Source, newest, all); err != nil {
			return r, err
		}
	}
	if !unchanged {
		r.Shared = next(newest, version)
		if r.Commit, err = Commit(ctx, c, l, r.Source, r.Shared); err != nil {
			return r, err
		}
	}
	for _, m := range all {
		switch {
		case !m.Shared() && slices.Contains(operators, m.Folder):
			r.Tags = append(r.Tags, Tag(m.Folder, version))
		case m.Shared() && !unchanged:
			r.Tags = append(r.Tags, Tag(m.Folder, r.Shared))
		}
	}
	return r, nil
}

func newestShared(ctx context.Context, c git.Clone) (newest string, err error) {
	tags, err := c.Lines(ctx, "tag", "--list", Tag(API, "v*"))
	for _, tag := range tags {
		if version := path.Base(tag); semver.IsValid(version) && (newest == "" || semver.Compare(version, newest) > 0) {
			newest = version
		}
	}
	return newest, err
}

func sameShared(ctx context.Context, c git.Clone, l location.Location, source, version string, all []Module) (string, bool, error) {
	commit, err := Commit(ctx, c, l, source, version)
	if err != nil {
		return "", false, err
	}
	for _, m := range all {
		if !m.Shared() {
			continue
		}
		tag := "refs/tags/" + Tag(m.Folder, version)
		if there, err := c.Run(ctx, "for-each-ref", tag); err != nil || there == "" {
			return "", false, err
		}
		trees, err := c.Lines(ctx, "rev-parse", commit+":"+m.Folder, tag+":"+m.Folder)
		if err != nil || trees[0] != trees[1] {
			return "", false, err
		}
	}
	return commit, true, nil
}

// next returns version if it is newer than newest and below v2, because v2 would change module
// paths. Otherwise it returns v1.0.0 if newest is "", the release of newest if newest is a
// prerelease, or else the minor version after newest.
func next(newest, version string) string {
	if major := semver.Major(version); (major == "v0" || major == "v1") && semver.Compare(version, newest) > 0 {
		return version
	}
	if newest == "" {
		return "v1.0.0"
	}
	var major, minor, patch int
	core, _, _ := strings.Cut(newest, "-")
	_, _ = fmt.Sscanf(core, "v%d.%d.%d", &major, &minor, &patch)
	if semver.Prerelease(newest) != "" {
		return core
	}
	return fmt.Sprintf("v%d.%d.0", major, minor+1)
}

// Create creates the tags that do not exist. It fails if a tag exists on another commit.
func (r Release) Create(ctx context.Context, c git.Clone) error {
	for _, tag := range r.Tags {
		there, err := c.Run(ctx, "for-each-ref", "refs/tags/"+tag)
		if err != nil {
			return err
		}
		if there != "" {
			if at, err := c.Run(ctx, "rev-parse", tag+"^{commit}"); err != nil || at != r.Commit {
				return errors.Join(err, fmt.Errorf("the tag %s is there already, on another commit; take the next version", tag))
			}
			continue
		}
		message := strings.Replace(tag, "/v", " v", 1)
		if _, err := c.Run(ctx, "tag", "--annotate", "--message", message, tag, r.Commit); err != nil {
			return err
		}
	}
	return nil
}

// Source returns the parent of a commit of [Commit], and any other commit itself.
func Source(ctx context.Context, c git.Clone, revision string) (string, error) {
	found, err := c.Lines(ctx, "log", "-1", "--format=%H%n%P%n%s", revision)
	if err != nil || len(found) != 3 {
		return "", errors.Join(err, fmt.Errorf("%s is no commit", revision))
	}
	if !strings.HasPrefix(found[2], subject) || strings.Contains(found[1], " ") || found[1] == "" {
		return found[0], nil
	}
	changed, err := c.Lines(ctx, "diff", "--name-only", found[1], found[0])
	if err != nil {
		return "", err
	}
	for _, file := range changed {
		if name := path.Base(file); name != "go.mod" && name != "go.sum" && name != "go.work" {
			return found[0], nil
		}
	}
	return found[1], nil
}

func hashOf(mod []byte) (string, error) {
	return dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(mod)), nil })
}
