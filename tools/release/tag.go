// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
	"jutsu.com/operators/tools/project/modules"
)

type tagging struct {
	release modules.Release
	// here and atOrigin report whether all tags exist in this clone and at the remote origin.
	here, atOrigin bool
}

func (r repository) clone() git.Clone { return git.Clone{Root: r.root} }

// HEAD may already be the commit of the tags, because the release workflow starts from the tag.
func (r repository) tagging(ctx context.Context, o releaseOptions) (t tagging, err error) {
	here, err := location.Read(r.root)
	if err != nil {
		return t, err
	}
	tagged, err := modules.Tagged(ctx, r.clone(), here)
	if err != nil {
		return t, err
	}
	if tagged {
		t.release.Tags = []string{o.tag()}
		t.release.Commit, _, err = r.head(ctx)
	} else {
		t.release, err = modules.Plan(ctx, r.clone(), here, []string{o.Operator}, o.Version)
	}
	if err != nil {
		return t, err
	}
	local, err := r.lines(ctx, slices.Concat([]string{"for-each-ref",
		"--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)\t%(refname)"}, refs(t.release.Tags))...)
	if err != nil {
		return t, err
	}
	if t.here, err = r.complete(t.release, local); err != nil {
		return t, err
	}
	remotes, err := r.lines(ctx, "remote")
	if err != nil || !slices.Contains(remotes, "origin") {
		return t, err
	}
	remote, err := r.lines(ctx, slices.Concat([]string{"ls-remote", "origin"}, refs(t.release.Tags), peeled(t.release.Tags))...)
	if err != nil {
		return t, err
	}
	t.atOrigin, err = r.complete(t.release, remote)
	return t, err
}

func refs(tags []string) (all []string) {
	for _, tag := range tags {
		all = append(all, "refs/tags/"+tag)
	}
	return all
}

func peeled(tags []string) (all []string) {
	for _, ref := range refs(tags) {
		all = append(all, ref+"^{}")
	}
	return all
}

// complete reports whether lines contain all tags of the release. Lines have the form
// "COMMIT<tab>REF". The line with the commit of an annotated tag (REF^{}) must come after the line
// of the tag itself.
func (r repository) complete(release modules.Release, lines []string) (bool, error) {
	commits := map[string]string{}
	for _, line := range lines {
		commit, ref, _ := strings.Cut(line, "\t")
		commits[strings.TrimSuffix(ref, "^{}")] = commit
	}
	all := true
	for _, tag := range release.Tags {
		commit := commits["refs/tags/"+tag]
		if commit != "" && commit != release.Commit {
			return false, fmt.Errorf("the tag %s is there already, on commit %s; take the next version", tag, commit)
		}
		all = all && commit != ""
	}
	return all, nil
}

func finish(ctx context.Context, r repository, out io.Writer, o releaseOptions, p published, t tagging) error {
	push := slices.Concat([]string{"push", "--atomic", "origin"}, refs(t.release.Tags))
	if o.DryRun {
		_, _ = fmt.Fprintln(out, "Dry run: nothing was pushed, except on this machine. Without DRY_RUN, it would do this:")
		for _, image := range p.images {
			_, _ = fmt.Fprintf(out, "  push %s\n", image.Reference)
		}
		for _, a := range p.artifacts {
			_, _ = fmt.Fprintf(out, "  push %s\n", a.reference(o.Repo))
		}
		if !t.here {
			_, _ = fmt.Fprintf(out, "  git tag, on a commit that requires the shared modules at %s: %s\n", t.release.Shared,
				strings.Join(t.release.Tags, " "))
		}
		if !t.atOrigin {
			_, _ = fmt.Fprintf(out, "  git %s\n", strings.Join(push, " "))
		}
		_, _ = fmt.Fprintf(out, "Next: review it, then make release-%s VERSION=%s IMAGE_REPO=%s\n", o.Operator, o.Version, o.Where.Registry)
		return nil
	}
	if !t.here {
		if err := t.release.Create(ctx, r.clone()); err != nil {
			return err
		}
	}
	if !t.atOrigin {
		if _, err := r.git(ctx, push...); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(out, "%s %s is released: %s\nNext: publish install.yaml, the archives, notes.md, krew, sbom and "+
		"checksums.txt; the workflow release-%s does that\n", o.Operator, o.Version, p.images[0].Reference,
		o.Operator)
	return nil
}
