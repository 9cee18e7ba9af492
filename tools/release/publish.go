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
	"strings"

	"golang.org/x/mod/semver"

	"jutsu.com/operators/tools/project/location"
)

type releaseOptions struct {
	Operator string
	// Version is v1.2.3, or v1.2.3-rc.1 for a prerelease.
	Version string
	// Repo is the registry and path of images. A dry run needs none.
	Repo string
	// DryRun pushes to a registry on the loopback interface, and creates no tag.
	DryRun bool
	// Platforms are the platforms of the image, and Plugins those of the kubectl plugin.
	Platforms, Plugins []string
	Sign               signing
	// Where is the address of the repository, for links.
	Where location.Location
}

func (o releaseOptions) tag() string { return o.Operator + "/" + o.Version }

// publishRelease can be repeated after an error, and then creates only the missing tags.
func publishRelease(ctx context.Context, r repository, out io.Writer, o releaseOptions) error {
	text, tags, err := ready(ctx, r, out, o)
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
	p := published{registry: o.Repo}
	if err := checkCatalog(ctx, r.root, o, out); err != nil {
		return err
	}
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
		Where: o.Where, Push: p.registry, Platforms: o.Platforms,
	}
	_, _ = fmt.Fprintf(out, "building %s %s for %s\n", o.Operator, o.Version, strings.Join(o.Platforms, ", "))
	if err := p.buildImages(ctx, &i); err != nil {
		return err
	}
	if p.artifacts, err = artifactsOf(r.root, i, p.images[0].Reference); err != nil {
		return err
	}
	if p.plugins, err = buildPlugins(ctx, i, o.Plugins); err != nil {
		return err
	}
	if err := writeRelease(i, o, p, text); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s holds install.yaml, the chart, the manifests, the OLM bundle, notes.md, the images, the plugin of kubectl, the "+
		"bills of materials and checksums.txt\n", folder)
	if !o.Where.Published() {
		_, _ = fmt.Fprintln(out, "  NO manifest for Krew: the project has no address; make relocate REPO=host/owner/name gives it one")
	}
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
	return finish(ctx, r, out, o, p, tags)
}

// buildImages builds the images of operator and companion, and sets i.Companion.
func (p *published) buildImages(ctx context.Context, i *imageOptions) error {
	all, err := i.withCompanion()
	if err != nil {
		return err
	}
	for _, one := range all {
		image, err := buildImage(ctx, one)
		if err != nil {
			return err
		}
		if one.Program != "" {
			i.Companion = image.Reference
		}
		p.images = append(p.images, image)
	}
	return nil
}

// signRelease signs with a temporary key in a dry run.
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
		_, _ = fmt.Fprintln(out, "  NOT signed. To sign, set SIGN_KEY=cosign.key (bin/cosign generate-key-pair creates it), or release by the workflow")
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

// ready checks the preconditions of a release, the cheapest first.
func ready(ctx context.Context, r repository, out io.Writer, o releaseOptions) (text string, tags tagging, err error) {
	if !semver.IsValid(o.Version) || semver.Canonical(o.Version) != o.Version {
		return "", tags, fmt.Errorf("%q is no version: give it as VERSION=v1.2.3", o.Version)
	}
	if o.Repo == "" && !o.DryRun {
		return "", tags, errors.New("the image repository is missing: set IMAGE_REPO=ghcr.io/you, or try with DRY_RUN=1 first")
	}
	changed, err := r.lines(ctx, "status", "--porcelain")
	if err != nil {
		return "", tags, err
	}
	if len(changed) > 0 {
		return "", tags, fmt.Errorf("a release is made of a commit: first commit these changes:\n%s", strings.Join(changed, "\n"))
	}
	changelog, err := os.ReadFile(filepath.Join(r.root, o.Operator, "CHANGELOG.md"))
	if err != nil {
		return "", tags, err
	}
	if text, err = notes(string(changelog), o.Version); err != nil {
		err = fmt.Errorf("%s/CHANGELOG.md: %w", o.Operator, err)
		soon, _ := section(string(changelog), unreleased)
		if !o.DryRun || soon == "" {
			return "", tags, err
		}
		_, _ = fmt.Fprintf(out, "This dry run takes the notes under %q; a release would fail: %v\n", unreleased, err)
		text = soon + "\n"
	}
	if tags, err = r.tagging(ctx, o); err != nil {
		return "", tags, err
	}
	last, err := r.lastTag(ctx, o.Operator, o.tag())
	if err != nil {
		return "", tags, err
	}
	if newest := strings.TrimPrefix(last, o.Operator+"/"); last != "" && semver.Compare(o.Version, newest) <= 0 {
		return "", tags, fmt.Errorf("%s is not newer than %s, which is released: take a higher version", o.Version, newest)
	}
	return text, tags, checkCompat(ctx, r, out, o.Operator, o.tag())
}

func writeRelease(i imageOptions, o releaseOptions, p published, text string) error {
	root, folder, reference := i.Root, i.Folder, p.images[0].Reference
	install, err := manifest(i, reference)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "install.yaml"), install, 0o644); err != nil {
		return err
	}
	for _, a := range p.artifacts {
		if err := os.WriteFile(filepath.Join(folder, a.File), a.content, 0o644); err != nil {
			return err
		}
	}
	if err := bundleArchive(root, folder, i, install, reference, o.Where.URL()); err != nil {
		return err
	}
	if err := writePlugins(folder, p.plugins); err != nil {
		return err
	}
	if err := writeKrew(folder, o.Where, o, p.plugins); err != nil {
		return err
	}
	chart, manifests := p.artifacts[0], p.artifacts[1]
	notes := fmt.Sprintf("%s\n## Install\n\n```sh\nkubectl apply --server-side -f install.yaml\n```\n\nor\n\n"+
		"```sh\nhelm install %s oci://%s --version %s --namespace %s --create-namespace\n```\n\n"+
		"Image: %#q. For Flux's OCIRepository: %#q\n",
		text, o.Operator, path.Join(o.Repo, chart.Repository), chart.Tag, namespaces[o.Operator], reference,
		"oci://"+manifests.reference(o.Repo)) + o.howToPlug(p.plugins) + o.Sign.howToVerify(reference)
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
	for _, below := range []string{"krew", "sbom"} {
		more, err := filepath.Glob(filepath.Join(folder, below, "*"))
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	var sums strings.Builder
	for _, file := range files {
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
	defer func() { _ = in.Close() }() // the file is only read, so an error of Close means no loss
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	return sum.Sum(nil), err
}
