// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/tools/project/location"
)

// artifact is an archive that Helm or Flux pulls from a registry: an OCI image with one layer.
type artifact struct {
	File string
	// Repository is a path below the images' path in the registry.
	Repository, Tag string
	content         []byte
	contentType     types.MediaType
	config          []byte
	configType      types.MediaType
	annotations     map[string]string
}

func (o imageOptions) docs() string { return o.Where.Docs(o.Operator + "/" + o.Version) }

func chartArtifact(root string, o imageOptions, reference string) (*artifact, error) {
	files, err := readFolder(filepath.Join(root, "deploy", "charts", o.Operator))
	if err != nil {
		return nil, err
	}
	number := strings.TrimPrefix(o.Version, "v")
	repository, tag, err := splitReference(reference)
	if err != nil {
		return nil, err
	}
	docs := o.docs()
	flags, err := json.Marshal(o.flags())
	if err != nil {
		return nil, err
	}
	for file, changes := range map[string][][2]string{
		"Chart.yaml": {{`version: .*`, "version: " + number}, {`appVersion: .*`, "appVersion: " + o.Version}},
		"values.yaml": {
			{`  repository: .*`, fmt.Sprintf("  repository: %q", repository)}, {`  tag: .*`, fmt.Sprintf("  tag: %q", tag)},
			{`docsURL: .*`, fmt.Sprintf("docsURL: %q", docs)}, {`flags: .*`, "flags: " + string(flags)},
		},
		"README.md": {
			{`helm install (\S+) oci://\S+/charts/`, "helm install $1 oci://" + path.Join(o.Repo, "charts") + "/"},
		},
	} {
		for _, change := range changes {
			line := regexp.MustCompile("(?m)^" + change[0])
			if n := len(line.FindAllString(files[file], -1)); n != 1 {
				return nil, fmt.Errorf("%s of the chart has %d lines that match %q, and must have one", file, n, change[0])
			}
			files[file] = line.ReplaceAllString(files[file], change[1])
		}
	}
	files["Chart.yaml"] = linkChart(files["Chart.yaml"], o.Where, docs)
	files["Chart.yaml"] += fmt.Sprintf("  artifacthub.io/prerelease: \"%t\"\n", semver.Prerelease(o.Version) != "") +
		"  artifacthub.io/images: |\n"
	for _, image := range o.images(reference) {
		files["Chart.yaml"] += fmt.Sprintf("    - name: %s\n      image: %s\n", image.Name, image.Image)
	}
	if o.Where.Published() { // these lines end the annotations, so they come after the lines above
		files["Chart.yaml"] += fmt.Sprintf("home: %[1]s\nsources: [%[1]q]\n", o.Where.URL())
	}
	a := &artifact{
		File: o.Operator + "-" + number + ".tgz", Repository: "charts/" + o.Operator, Tag: number,
		contentType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
		configType:  "application/vnd.cncf.helm.config.v1+json", annotations: labels(o),
	}
	if a.config, err = yaml.YAMLToJSON([]byte(files["Chart.yaml"])); err != nil {
		return nil, fmt.Errorf("the chart's metadata: %w", err)
	}
	a.content, err = pack(files, o.Operator+"/", o.Created)
	return a, err
}

// chartLinks matches the links in Chart.yaml to a branch. A release must not have such links.
var chartLinks = regexp.MustCompile(`(?m)^(home|sources): .*\n|^  artifacthub\.io/links: \|\n(    .*\n)+`)

// linkChart appends links to the annotations, which must be the last key in the file.
func linkChart(text string, where location.Location, docs string) string {
	text = chartLinks.ReplaceAllString(text, "")
	if docs == "" {
		return text
	}
	return text + "  artifacthub.io/links: |\n    - name: Documentation\n      url: " + docs + "/README.md\n" +
		"    - name: Alerts\n      url: " + docs + "/alerts.md\n    - name: support\n      url: " + where.Issues() + "\n"
}

// manifestsArtifact packs deploy/OPERATOR as `flux push artifact` does, with the released image.
func manifestsArtifact(root string, o imageOptions, reference string) (*artifact, error) {
	files, err := readFolder(filepath.Join(root, "deploy", o.Operator))
	if err != nil {
		return nil, err
	}
	released, err := filepath.Rel(filepath.Join(root, "deploy", o.Operator), overlay(root, o.Operator))
	if err != nil {
		return nil, err
	}
	top, err := kustomization(o, filepath.ToSlash(released), reference)
	if err != nil {
		return nil, err
	}
	if docs := o.docs(); docs != "" {
		linkDocs(files, docs)
	}
	files["kustomization.yaml"] = string(top)
	a := &artifact{
		File: o.Operator + "-manifests.tgz", Repository: "manifests/" + o.Operator, Tag: o.Version,
		contentType: "application/vnd.cncf.flux.content.v1.tar+gzip", configType: "application/vnd.cncf.flux.config.v1+json",
		config: []byte("{}"), annotations: labels(o),
	}
	a.content, err = pack(files, "", o.Created)
	return a, err
}

func linkDocs(files map[string]string, docs string) {
	for file, text := range files {
		if strings.HasPrefix(file, "components/docs-url/") {
			files[file] = strings.ReplaceAll(text, docsPlaceholder, docs)
		}
	}
	files["components/prometheus/kustomization.yaml"] += "components:\n  - ../docs-url/links/runbooks\n"
}

// splitReference returns the repository and the tag with the digest, for the values of a chart.
func splitReference(reference string) (repository, tag string, err error) {
	repository, digest, ok := strings.Cut(reference, "@")
	colon := strings.LastIndex(repository, ":")
	if !ok || colon < strings.LastIndex(repository, "/") {
		return "", "", fmt.Errorf("the image %q has no tag or no digest", reference)
	}
	return repository[:colon], repository[colon+1:] + "@" + digest, nil
}

func readFolder(folder string) (map[string]string, error) {
	files := map[string]string{}
	within := os.DirFS(folder)
	err := fs.WalkDir(within, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(within, path)
		files[path] = string(text)
		return err
	})
	return files, err
}

// Equal files give equal archives. The given programs are executable.
func pack(files map[string]string, prefix string, at time.Time, programs ...string) ([]byte, error) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	w := tar.NewWriter(compressed)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Name: prefix + file, Typeflag: tar.TypeReg, Mode: int64(modeOf(file, programs...)), Size: int64(len(files[file])), ModTime: at,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(files[file])); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), compressed.Close())
	return archive.Bytes(), err
}

func modeOf(file string, programs ...string) fs.FileMode {
	if slices.Contains(programs, file) {
		return 0o755
	}
	return 0o644
}

func (a *artifact) reference(repo string) string { return path.Join(repo, a.Repository) + ":" + a.Tag }

func (a *artifact) digest() (v1.Hash, error) {
	manifest, err := a.RawManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	digest, _, err := v1.SHA256(bytes.NewReader(manifest))
	return digest, err
}

func (a *artifact) push(ctx context.Context, repo string) error {
	reference, err := name.ParseReference(a.reference(repo))
	if err != nil {
		return err
	}
	image, err := partial.CompressedToImage(a)
	if err != nil {
		return err
	}
	err = remote.Write(reference, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	return nil
}

// MediaType implements partial.CompressedImageCore.
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawConfigFile implements partial.CompressedImageCore.
func (a *artifact) RawConfigFile() ([]byte, error) { return a.config, nil }

// RawManifest implements partial.CompressedImageCore.
func (a *artifact) RawManifest() ([]byte, error) {
	m := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: a.annotations, Layers: make([]v1.Descriptor, 1),
	}
	for _, part := range []struct {
		content   []byte
		mediaType types.MediaType
		into      *v1.Descriptor
	}{{a.config, a.configType, &m.Config}, {a.content, a.contentType, &m.Layers[0]}} {
		digest, size, err := v1.SHA256(bytes.NewReader(part.content))
		if err != nil {
			return nil, err
		}
		*part.into = v1.Descriptor{MediaType: part.mediaType, Digest: digest, Size: size}
	}
	return json.Marshal(m)
}

// LayerByDigest implements partial.CompressedImageCore.
func (a *artifact) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) {
	return static.NewLayer(a.content, a.contentType), nil
}
