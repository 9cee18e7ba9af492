// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/ko/pkg/build"
	"github.com/google/ko/pkg/publish"

	"jutsu.com/operators/tools/project/location"
)

func (o imageOptions) program() string { return cmp.Or(o.Program, o.Operator) }

type imageOptions struct {
	Root     string
	Operator string
	// Program is "" for the operator's image, or else the program of the companion's image.
	Program string
	// Companion is the reference of the companion's image, or "".
	Companion string
	// Version is also the image's tag: v1.2.3 for a release.
	Version string
	// Created is the time of the commit Revision, so all builds of a commit have the same digest.
	Revision string
	Created  time.Time
	// Repo is the registry and path of images. An image has the name REPO/PROGRAM:VERSION.
	Repo string
	// Where is the address of the repository, for links.
	Where location.Location
	// Push is the registry and path for pushes; "" pushes nothing. Only a dry run pushes to another
	// registry than Repo.
	Push   string
	Folder string
	// Platforms lists at least one platform, in the form os/arch.
	Platforms []string
}

type built struct {
	Program string
	// Archive is a tar file in the OCI image layout.
	Archive   string
	Digest    v1.Hash
	Reference string
	Platforms map[string]pulled
}

type pulled struct {
	Digest v1.Hash
	// Size is the compressed size in bytes.
	Size int64
}

// buildImage builds a static binary on an empty base with ko, and an SBOM per platform.
func buildImage(ctx context.Context, o imageOptions) (*built, error) {
	// These variables of the user's environment would change the build.
	for _, variable := range []string{"GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFLAGS", "CGO_ENABLED"} {
		if err := os.Unsetenv(variable); err != nil {
			return nil, err
		}
	}
	module, err := moduleOf(o.Root, o.Operator)
	if err != nil {
		return nil, err
	}
	workspace, err := workspaceOf(o.Root, module)
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("GOWORK", workspace); err != nil {
		return nil, err
	}
	sboms, archive := filepath.Join(o.Folder, "sbom"), "image.tar"
	if o.Program != "" {
		archive = o.Program + ".tar"
	} else if err := os.RemoveAll(sboms); err != nil {
		return nil, err
	}
	builder, err := build.NewGo(ctx, filepath.Join(o.Root, o.Operator), builderOptions(o, sboms)...)
	if err != nil {
		return nil, fmt.Errorf("build the image of %s: %w", o.program(), err)
	}
	result, err := builder.Build(ctx, build.StrictScheme+path.Join(module.Module.Mod.Path, "cmd", o.program()))
	if err != nil {
		return nil, fmt.Errorf("build the image of %s: %w", o.program(), err)
	}
	b := &built{Program: o.program(), Archive: filepath.Join(o.Folder, archive)}
	if b.Digest, err = result.Digest(); err != nil {
		return nil, err
	}
	b.Reference = o.imageName() + "@" + b.Digest.String()
	if b.Platforms, err = pulledOf(result); err != nil {
		return nil, err
	}
	if err := writeArchive(b.Archive, result, o); err != nil {
		return nil, fmt.Errorf("write the image of %s: %w", o.program(), err)
	}
	if o.Push != "" {
		if err := push(ctx, result, o); err != nil {
			return nil, fmt.Errorf("push the image of %s to %s: %w", o.program(), o.Push, err)
		}
	}
	return b, nil
}

func (o imageOptions) imageName() string {
	return path.Join(o.Repo, o.program()) + ":" + o.Version
}

// containerd has no default registry, so the name needs one.
func (o imageOptions) containerdName() string {
	if o.Repo == "" {
		return "docker.io/library/" + o.imageName()
	}
	return o.imageName()
}

func builderOptions(o imageOptions, sboms string) []build.Option {
	options := []build.Option{
		build.WithBaseImages(func(context.Context, string) (name.Reference, build.Result, error) {
			index, err := base()
			return name.MustParseReference("scratch"), index, err
		}),
		build.WithPlatforms(o.Platforms...),
		build.WithTrimpath(true),
		// The VCS data would make the digest depend on the history that a clone has.
		build.WithDefaultFlags([]string{"-buildvcs=false"}),
		build.WithDefaultEnv([]string{"CGO_ENABLED=0"}),
		build.WithDefaultLdflags([]string{"-s -w -X main.version=" + o.Version}),
		build.WithCreationTime(v1.Time{Time: o.Created}),
		build.WithKoDataCreationTime(v1.Time{Time: o.Created}),
		build.WithSPDX(o.Version),
		build.WithSBOMDir(sboms),
		build.WithJobs(1), // go build uses all processors already
	}
	for key, value := range labels(o) {
		options = append(options, build.WithLabel(key, value), build.WithAnnotation(key, value))
	}
	return options
}

func labels(o imageOptions) map[string]string {
	const prefix = "org.opencontainers.image."
	of := map[string]string{
		prefix + "title":    o.program(),
		prefix + "version":  o.Version,
		prefix + "revision": o.Revision,
		prefix + "created":  o.Created.UTC().Format(time.RFC3339),
		prefix + "licenses": "Apache-2.0",
		prefix + "vendor":   "Jutsu",
	}
	if o.Where.Published() {
		of[prefix+"source"] = o.Where.URL()
	}
	switch o.program() {
	case "dojo-operator":
		of[prefix+"description"] = "Turns Dojo objects into running, monitored applications"
	case "discord-operator":
		of[prefix+"description"] = "Makes Discord match DiscordServer, DiscordGroup, DiscordChannel and DiscordRole objects"
	default:
		of[prefix+"description"] = companions[o.Operator].Description
	}
	return of
}

func push(ctx context.Context, image build.Result, o imageOptions) error {
	publisher, err := publish.NewDefault(o.Push,
		publish.WithNamer(func(base, _ string) string { return path.Join(base, o.program()) }),
		publish.WithTags([]string{o.Version}))
	if err != nil {
		return err
	}
	if _, err := publisher.Publish(ctx, image, o.program()); err != nil {
		return err
	}
	return publisher.Close()
}

func pulledOf(image build.Result) (map[string]pulled, error) {
	found := map[string]pulled{}
	index, ok := image.(v1.ImageIndex)
	if !ok {
		return found, addPlatform(found, image.(v1.Image))
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		one, err := index.Image(m.Digest)
		if err != nil {
			return nil, err
		}
		if err := addPlatform(found, one); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func addPlatform(found map[string]pulled, image v1.Image) error {
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	one := pulled{Size: manifest.Config.Size}
	for _, layer := range manifest.Layers {
		one.Size += layer.Size
	}
	one.Digest, err = image.Digest()
	found[strings.Join([]string{config.OS, config.Architecture}, "/")] = one
	return err
}
