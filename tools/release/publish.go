// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

type releaseOptions struct {
	Operator string
	// Version is v1.2.3, or v1.2.3-rc.1 for a prerelease.
	Version string
	// Repo is the repository of images; a dry run needs none.
	Repo string
	// Project is the address of the repository on GitHub, or empty.
	Project string
	// DryRun builds and checks everything, pushes to a registry on loopback, and creates no tag.
	DryRun    bool
	Platforms []string
	Sign      signing
}

func (o releaseOptions) tag() string { return o.Operator + "/" + o.Version }

// publishRelease releases one operator only. It can be repeated: existing parts stay.
func publishRelease(ctx context.Context, r repository, out io.Writer, o releaseOptions) error {
	text, there, err := ready(ctx, r, out, o)
	if err != nil {
		return err
	}
	revision, at, err := r.head(ctx)
	if err != nil {
		return err
	}
	folder := filepath.Join(r.root, "out", "release", o.Operator)
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	p := published{registry: o.Repo, operator: o.Operator}
	if o.DryRun {
		loopback, err := startRegistry(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = loopback.Close() }()
		p.registry = loopback.repository()
	}
	i := imageOptions{
		Root: r.root, Operator: o.Operator, Version: o.Version, Revision: revision, Created: at, Folder: folder, Repo: o.Repo,
		Project: o.Project, Push: p.registry, Platforms: o.Platforms,
	}
	_, _ = fmt.Fprintf(out, "building %s %s for %s\n", o.Operator, o.Version, strings.Join(o.Platforms, ", "))
	if p.image, err = buildImage(ctx, i); err != nil {
		return err
	}
	if p.artifacts, err = artifactsOf(r.root, i, p.image.Reference); err != nil {
		return err
	}
	if err := writeRelease(r.root, folder, o, p.image.Reference, text, p.artifacts); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s holds install.yaml, the chart, the manifests, notes.md, the image, its bills of materials "+
		"and checksums.txt\n", folder)
	for _, a := range p.artifacts {
		if err := a.push(ctx, p.registry); err != nil {
			return err
		}
		if !o.DryRun {
			_, _ = fmt.Fprintf(out, "  pushed %s\n", a.reference(o.Repo))
		}
	}
	if err := signRelease(ctx, out, o, p, folder); err != nil {
		return err
	}
	return finish(ctx, r, out, o, p.image.Reference, p.artifacts, there)
}

// signRelease signs and verifies the pushed artifacts; a dry run makes a key for it.
func signRelease(ctx context.Context, out io.Writer, o releaseOptions, p published, folder string) error {
	scratch, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	var s *signer
	if o.DryRun {
		s, err = newRehearsal(ctx, o.Sign, scratch)
	} else {
		s, err = newSigner(ctx, o.Sign, scratch, folder)
	}
	switch {
	case err != nil:
		return err
	case s == nil:
		_, _ = fmt.Fprintln(out, "  NOT signed: SIGN_KEY=cosign.key does (bin/cosign generate-key-pair), and so does the workflow")
		return nil
	}
	if err := s.release(ctx, p, folder); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "  signed and verified: the image, the chart, the manifests, the bills of materials and checksums.txt")
	return nil
}

func artifactsOf(root string, o imageOptions, reference string) ([]*artifact, error) {
	chart, err := chartArtifact(root, o, reference)
	if err != nil {
		return nil, fmt.Errorf("make the chart of %s: %w", o.Operator, err)
	}
	manifests, err := manifestsArtifact(root, o, reference)
	if err != nil {
		return nil, fmt.Errorf("pack the manifests of %s: %w", o.Operator, err)
	}
	return []*artifact{chart, manifests}, nil
}

// ready checks the preconditions, cheapest first. It returns the changelog's text, and where the
// tag already exists.
func ready(ctx context.Context, r repository, out io.Writer, o releaseOptions) (text string, there tagged, err error) {
	if !semver.IsValid(o.Version) || semver.Canonical(o.Version) != o.Version {
		return "", there, fmt.Errorf("%q is no version: give it as VERSION=v1.2.3", o.Version)
	}
	if o.Repo == "" && !o.DryRun {
		return "", there, errors.New("the image repository is missing: set IMAGE_REPO=ghcr.io/you, or try with DRY_RUN=1 first")
	}
	changed, err := r.lines(ctx, "status", "--porcelain")
	if err != nil {
		return "", there, err
	}
	if len(changed) > 0 {
		return "", there, fmt.Errorf("a release is made of a commit, and this is not committed:\n%s", strings.Join(changed, "\n"))
	}
	changelog, err := os.ReadFile(filepath.Join(r.root, o.Operator, "CHANGELOG.md"))
	if err != nil {
		return "", there, err
	}
	if text, err = notes(string(changelog), o.Version); err != nil {
		err = fmt.Errorf("%s/CHANGELOG.md: %w", o.Operator, err)
		soon, _ := section(string(changelog), unreleased)
		if !o.DryRun || soon == "" {
			return "", there, err
		}
		_, _ = fmt.Fprintf(out, "This dry run takes what is under %q; a release will not: %v\n", unreleased, err)
		text = soon + "\n"
	}
	if there, err = r.tagged(ctx, o.tag()); err != nil {
		return "", there, err
	}
	last, err := r.lastTag(ctx, o.Operator, o.tag())
	if err != nil {
		return "", there, err
	}
	if newest := strings.TrimPrefix(last, o.Operator+"/"); last != "" && semver.Compare(o.Version, newest) <= 0 {
		return "", there, fmt.Errorf("%s is not newer than %s, which is released", o.Version, newest)
	}
	return text, there, checkCompat(ctx, r, out, o.Operator, o.tag())
}

type tagged struct{ here, atOrigin bool }

// tagged fails if the tag is on another commit than HEAD.
func (r repository) tagged(ctx context.Context, tag string) (found tagged, err error) {
	local, err := r.lines(ctx, "for-each-ref", "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)", "refs/tags/"+tag)
	if err != nil {
		return tagged{}, err
	}
	if found.here, err = r.isHead(ctx, tag, local); err != nil {
		return tagged{}, err
	}
	remotes, err := r.lines(ctx, "remote")
	if err != nil || !slices.Contains(remotes, "origin") {
		return found, err
	}
	remote, err := r.lines(ctx, "ls-remote", "origin", "refs/tags/"+tag, "refs/tags/"+tag+"^{}")
	if err != nil {
		return tagged{}, err
	}
	found.atOrigin, err = r.isHead(ctx, tag, remote)
	return found, err
}

// isHead reports whether the last line (the commit of an annotated tag) is HEAD.
func (r repository) isHead(ctx context.Context, tag string, lines []string) (bool, error) {
	if len(lines) == 0 {
		return false, nil
	}
	head, _, err := r.head(ctx)
	if err != nil {
		return false, err
	}
	if commit, _, _ := strings.Cut(lines[len(lines)-1], "\t"); commit != head {
		return false, fmt.Errorf("the tag %s is there already, on commit %s; take the next version", tag, commit)
	}
	return true, nil
}

func writeRelease(root, folder string, o releaseOptions, reference, text string, artifacts []*artifact) error {
	install, err := manifest(root, o.Operator, o.Version, reference, docsURL(o.Project, o.Operator, o.Version))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "install.yaml"), install, 0o644); err != nil {
		return err
	}
	for _, a := range artifacts {
		if err := os.WriteFile(filepath.Join(folder, a.File), a.content, 0o644); err != nil {
			return err
		}
	}
	chart, manifests := artifacts[0], artifacts[1]
	notes := fmt.Sprintf("%s\n## Install\n\n```sh\nkubectl apply --server-side -f install.yaml\n```\n\nor\n\n"+
		"```sh\nhelm install %s oci://%s --version %s --namespace %s --create-namespace\n```\n\n"+
		"Image: %#q. For Flux's OCIRepository: %#q\n",
		text, o.Operator, path.Join(o.Repo, chart.Repository), chart.Tag, namespaces[o.Operator], reference,
		"oci://"+manifests.reference(o.Repo)) + o.Sign.howToVerify(reference)
	if err := os.WriteFile(filepath.Join(folder, "notes.md"), []byte(notes), 0o644); err != nil {
		return err
	}
	return writeChecksums(folder)
}

func writeChecksums(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.*"))
	if err != nil {
		return err
	}
	sboms, err := filepath.Glob(filepath.Join(folder, "sbom", "*"))
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, file := range slices.Concat(files, sboms) {
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		sum, err := checksum(file)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(&sums, "%x  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(folder, "checksums.txt"), []byte(sums.String()), 0o644)
}

func checksum(file string) ([]byte, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // read-only
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	return sum.Sum(nil), err
}

func finish(ctx context.Context, r repository, out io.Writer, o releaseOptions, reference string, artifacts []*artifact,
	there tagged) error {
	var steps [][]string
	if !there.here {
		steps = append(steps, []string{"tag", "--annotate", "--message", o.Operator + " " + o.Version, o.tag()})
	}
	if !there.atOrigin {
		steps = append(steps, []string{"push", "origin", "refs/tags/" + o.tag()})
	}
	if o.DryRun {
		_, _ = fmt.Fprintf(out, "Dry run, nothing is pushed but to this machine. Without DRY_RUN this would be done:\n  push %s\n", reference)
		for _, a := range artifacts {
			_, _ = fmt.Fprintf(out, "  push %s\n", a.reference(o.Repo))
		}
		for _, step := range steps {
			_, _ = fmt.Fprintf(out, "  git %s\n", strings.Join(step, " "))
		}
		_, _ = fmt.Fprintf(out, "Next: review it, then make release-%s VERSION=%s IMAGE_REPO=ghcr.io/you\n", o.Operator, o.Version)
		return nil
	}
	for _, step := range steps {
		if _, err := r.git(ctx, step...); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(out, "%s %s is released: %s\nNext: publish install.yaml, the archives, notes.md, sbom and checksums.txt where users look for them "+
		"(the workflow release-%s does)\n", o.Operator, o.Version, reference, o.Operator)
	return nil
}
