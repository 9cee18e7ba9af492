// SPDX-License-Identifier: Apache-2.0

// Command release builds and publishes the operators' images, manifests, charts, OLM bundles and
// kubectl plugins, and compares their API with the former release.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"jutsu.com/operators/tools/project/location"
)

var operators = []string{"dojo-operator", "discord-operator"}

var namespaces = map[string]string{"dojo-operator": "dojo-system", "discord-operator": "discord-system"}

const usage = `Usage: release image    OPERATOR [--version v1.2.3] [--repo REPOSITORY] [--platform linux/amd64,...] [--folder FOLDER]
       release plugin   OPERATOR [--version v1.2.3] [--plugin-platform linux/amd64,...] [--folder FOLDER]
       release compat   OPERATOR
       release former   OPERATOR [--folder FOLDER]
       release manifest OPERATOR --version v1.2.3 --image IMAGE@sha256:...
       release publish  OPERATOR --version v1.2.3 [--repo REPOSITORY] [--dry-run] [--key FILE | --identity REGEXP]`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	log.SetFlags(0)
	log.SetOutput(progress{os.Stdout})
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 2 {
		return fmt.Errorf("a command and an operator are needed\n%s", usage)
	}
	command, operator := args[0], args[1]
	if !slices.Contains(operators, operator) {
		return fmt.Errorf("%q is none of the operators %s\n%s", operator, strings.Join(operators, ", "), usage)
	}
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	version := flags.String("version", "", "version to build or release; by default from git describe and the operator's own tags")
	repo := flags.String("repo", "", "`repository` of images to push to, as ghcr.io/you; by default nothing is pushed")
	reference := flags.String("image", "", "`image` with its digest, for the manifest")
	dryRun := flags.Bool("dry-run", false, "check and build all, push it to a registry on loopback, sign and verify it there; tag nothing")
	var sign signing
	flags.StringVar(&sign.Cosign, "cosign", filepath.Join("bin", "cosign"), "the `program` cosign, which signs releases")
	flags.StringVar(&sign.Key, "key", "", "`file` with the private key that signs releases; its password is in the environment variable COSIGN_PASSWORD")
	flags.StringVar(&sign.Identity, "identity", "", "`regular expression` of the identity that signs without a key, such as the identity of a workflow")
	flags.StringVar(&sign.Issuer, "issuer", "https://token.actions.githubusercontent.com", "`URL` of the OpenID Connect issuer of the identity")
	folder := flags.String("folder", "",
		"`folder` for the image and its bills of materials (default out/image/OPERATOR), or for the former release")
	platform := flags.String("platform", "linux/amd64,linux/arm64", "comma-separated platforms of the image")
	programs := flags.String("plugin-platform", pluginPlatforms, "comma-separated platforms of the plugin of kubectl")
	if err := flags.Parse(args[2:]); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	where, err := location.Read(root)
	if err != nil {
		return err
	}
	return execute(ctx, repository{root: root}, out, command, *reference, *folder, releaseOptions{
		Operator: operator, Version: *version, Repo: *repo, DryRun: *dryRun, Platforms: strings.Split(*platform, ","),
		Plugins: strings.Split(*programs, ","), Sign: sign, Where: where,
	})
}

func execute(ctx context.Context, r repository, out io.Writer, command, reference, folder string,
	o releaseOptions) error {
	build := imageOptions{
		Root: r.root, Operator: o.Operator, Version: o.Version, Where: o.Where, Repo: o.Repo, Push: o.Repo,
		Platforms: o.Platforms, Folder: cmp.Or(folder, filepath.Join(r.root, "out", command, o.Operator)),
	}
	switch command {
	case "image":
		return image(ctx, r, out, build)
	case "plugin":
		return buildAndWritePlugins(ctx, r, out, build, o.Plugins)
	case "compat":
		return checkCompat(ctx, r, out, o.Operator, "")
	case "former":
		return printFormer(ctx, r, out, o.Operator, folder)
	case "manifest":
		text, err := manifest(build, reference)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	case "publish":
		return publishRelease(ctx, r, out, o)
	default:
		return fmt.Errorf("there is no command %q\n%s", command, usage)
	}
}

// progress prints only ko's lines about the progress.
type progress struct{ out io.Writer }

func (p progress) Write(line []byte) (int, error) {
	for _, of := range []string{"Building ", "Publishing ", "Published "} {
		if strings.HasPrefix(string(line), of) {
			return p.out.Write(append([]byte("  "), line...))
		}
	}
	return len(line), nil
}

// identify sets the commit, and the version if it is empty.
func (o *imageOptions) identify(ctx context.Context, r repository) (err error) {
	if o.Revision, o.Created, err = r.head(ctx); err != nil || o.Version != "" {
		return err
	}
	o.Version, err = r.describe(ctx, o.Operator)
	return err
}

func buildAndWritePlugins(ctx context.Context, r repository, out io.Writer, o imageOptions, platforms []string) error {
	if err := o.identify(ctx, r); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "building %s %s for %s\n", plugins[o.Operator], o.Version, strings.Join(platforms, ", "))
	all, err := buildPlugins(ctx, o, platforms)
	if err != nil {
		return err
	}
	for _, p := range all {
		_, _ = fmt.Fprintf(out, "  %-45s %.1f MB\n", p.File, float64(len(p.content))/1e6)
	}
	_, _ = fmt.Fprintf(out, "They are in %s, their bills of materials beside them\n", o.Folder)
	return writePlugins(o.Folder, all)
}

func image(ctx context.Context, r repository, out io.Writer, o imageOptions) (err error) {
	if err := o.identify(ctx, r); err != nil {
		return err
	}
	all, err := o.withCompanion()
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := oneImage(ctx, out, one); err != nil {
			return err
		}
	}
	return nil
}

func oneImage(ctx context.Context, out io.Writer, o imageOptions) error {
	_, _ = fmt.Fprintf(out, "building the image %s for %s\n", o.imageName(), strings.Join(o.Platforms, ", "))
	b, err := buildImage(ctx, o)
	if err != nil {
		return err
	}
	for _, platform := range slices.Sorted(maps.Keys(b.Platforms)) {
		_, _ = fmt.Fprintf(out, "  %-12s %.1f MB compressed\n", platform, float64(b.Platforms[platform].Size)/1e6)
	}
	_, _ = fmt.Fprintf(out, "  %s\n", b.Digest)
	if o.Push != "" {
		next := fmt.Sprintf("kustomize edit set image %s=%s", o.Operator, b.Reference)
		if o.Program != "" {
			next = fmt.Sprintf("set the operator's flag --%s=%s", companions[o.Operator].Flag, b.Reference)
		}
		_, _ = fmt.Fprintf(out, "Pushed. Next: %s\n", next)
		return nil
	}
	_, _ = fmt.Fprintf(out, "It is in %s, its bills of materials beside it. Next: load it into a cluster (tools/load kind, "+
		"tools/load k3d, ctr images import; others: docs/do/kind-k3d.md), or push: make image-%s IMAGE_REPO=%s\n",
		b.Archive, o.Operator, o.Where.Registry)
	return nil
}
