// SPDX-License-Identifier: Apache-2.0

package main

import (
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
)

// modules is where the project's Go modules are: operator NAME is modules/NAME.
const modules = "jutsu.com/operators/"

// importPath returns the import path of an operator's main package.
func importPath(operator string) string { return modules + operator + "/cmd/" + operator }

// imageOptions are what an image is built from.
type imageOptions struct {
	// Root is the checkout.
	Root string
	// Operator is the name of its folder.
	Operator string
	// Version is what the binary says of itself, and the image's tag: v1.2.3 for a release.
	Version string
	// Revision is the commit that it is built from, and Created that commit's time: the same commit gives the same digest.
	Revision string
	Created  time.Time
	// Repo is the repository of images below which it is NAME:VERSION.
	Repo string
	// Push is the repository of images to push to, which is Repo but for a rehearsal; empty pushes nothing.
	Push string
	// Folder gets the image as an OCI archive and its bills of materials.
	Folder string
	// Platforms are those to build for, each os/arch; at least one.
	Platforms []string
}

// built is an image.
type built struct {
	// Archive is a tar file of it, in the OCI image layout.
	Archive string
	// Digest is the image's, sha256:...
	Digest v1.Hash
	// Reference is repository, tag and digest, by which it can be pulled once it is pushed.
	Reference string
	// Platforms is what a node pulls, by platform.
	Platforms map[string]pulled
}

// pulled is an image of one platform.
type pulled struct {
	Digest v1.Hash
	// Size is in bytes, compressed.
	Size int64
}

// buildImage builds an operator's image with ko: a static binary of Go on a base that holds nothing else, with a bill of materials (SPDX) per platform.
func buildImage(ctx context.Context, o imageOptions) (*built, error) {
	// What a person has set for other builds must not show in this one.
	for _, variable := range []string{"GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFLAGS", "CGO_ENABLED"} {
		if err := os.Unsetenv(variable); err != nil {
			return nil, err
		}
	}
	if err := os.Setenv("GOWORK", "off"); err != nil { // the operator's own go.mod says which versions are in it
		return nil, err
	}
	bills := filepath.Join(o.Folder, "sbom")
	if err := os.RemoveAll(bills); err != nil {
		return nil, err
	}
	builder, err := build.NewGo(ctx, filepath.Join(o.Root, o.Operator), builderOptions(o, bills)...)
	if err != nil {
		return nil, fmt.Errorf("build the image of %s: %w", o.Operator, err)
	}
	result, err := builder.Build(ctx, build.StrictScheme+importPath(o.Operator))
	if err != nil {
		return nil, fmt.Errorf("build the image of %s: %w", o.Operator, err)
	}
	b := &built{Archive: filepath.Join(o.Folder, "image.tar")}
	if b.Digest, err = result.Digest(); err != nil {
		return nil, err
	}
	b.Reference = o.imageName() + "@" + b.Digest.String()
	if b.Platforms, err = pulledOf(result); err != nil {
		return nil, err
	}
	if err := writeArchive(b.Archive, result, o.imageName()); err != nil {
		return nil, fmt.Errorf("write the image of %s: %w", o.Operator, err)
	}
	if o.Push != "" {
		if err := push(ctx, result, o); err != nil {
			return nil, fmt.Errorf("push the image of %s to %s: %w", o.Operator, o.Push, err)
		}
	}
	return b, nil
}

// imageName is the image's name with its tag.
func (o imageOptions) imageName() string {
	return path.Join(o.Repo, o.Operator) + ":" + o.Version
}

func builderOptions(o imageOptions, bills string) []build.Option {
	options := []build.Option{
		build.WithBaseImages(func(context.Context, string) (name.Reference, build.Result, error) {
			index, err := base()
			return name.MustParseReference("scratch"), index, err
		}),
		build.WithPlatforms(o.Platforms...),
		build.WithTrimpath(true),
		// No word of the repository's state in the binary: a clone without history must give the same digest.
		build.WithDefaultFlags([]string{"-buildvcs=false"}),
		build.WithDefaultEnv([]string{"CGO_ENABLED=0"}),
		build.WithDefaultLdflags([]string{"-s -w -X main.version=" + o.Version}),
		build.WithCreationTime(v1.Time{Time: o.Created}),
		build.WithKoDataCreationTime(v1.Time{Time: o.Created}),
		build.WithSPDX(o.Version),
		build.WithSBOMDir(bills),
		build.WithJobs(1), // go build uses every processor already
	}
	for key, value := range labels(o) {
		options = append(options, build.WithLabel(key, value), build.WithAnnotation(key, value))
	}
	return options
}

// labels are those that the OCI image specification defines.
func labels(o imageOptions) map[string]string {
	const prefix = "org.opencontainers.image."
	of := map[string]string{
		prefix + "title":    o.Operator,
		prefix + "version":  o.Version,
		prefix + "revision": o.Revision,
		prefix + "created":  o.Created.UTC().Format(time.RFC3339),
		prefix + "licenses": "Apache-2.0",
		prefix + "vendor":   "Jutsu",
	}
	switch o.Operator {
	case "dojo-operator":
		of[prefix+"description"] = "Turns Dojo objects into running, monitored applications"
	case "discord-operator":
		of[prefix+"description"] = "Keeps Discord as DiscordServer, DiscordGroup and DiscordChannel objects say"
	}
	return of
}

// push pushes the image for every platform, with its bills of materials, under its version.
func push(ctx context.Context, image build.Result, o imageOptions) error {
	publisher, err := publish.NewDefault(o.Push,
		publish.WithNamer(func(base, _ string) string { return path.Join(base, o.Operator) }),
		publish.WithTags([]string{o.Version}))
	if err != nil {
		return err
	}
	if _, err := publisher.Publish(ctx, image, importPath(o.Operator)); err != nil {
		return err
	}
	return publisher.Close()
}

// pulledOf is what nodes pull of an image.
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
