// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	helm "helm.sh/helm/v4/pkg/registry"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func checkChart(t *testing.T, repo, image, migrate string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	client, err := helm.NewClient(helm.ClientOptPlainHTTP(), helm.ClientOptCredentialsFile(none))
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := client.Pull(repo + "/charts/dojo-operator:0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	meta := pulled.Chart.Meta
	got := []string{
		meta.Name, meta.Version, meta.AppVersion, meta.Annotations["artifacthub.io/prerelease"],
		meta.Annotations["artifacthub.io/images"], meta.Home, meta.Annotations["artifacthub.io/links"],
		strings.Join(meta.Sources, " "),
	}
	want := []string{
		"dojo-operator", "0.1.0", "v0.1.0", "false",
		"- name: dojo-operator\n  image: " + image + "\n- name: dojo-migrate\n  image: " + migrate + "\n", testProject,
		"- name: Documentation\n  url: " + testDocs + "/README.md\n- name: Alerts\n  url: " + testDocs + "/alerts.md\n" +
			"- name: support\n  url: " + testProject + "/issues\n", testProject,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the chart's metadata (-want +got):\n%s", diff)
	}
	chart, err := loader.LoadArchive(bytes.NewReader(pulled.Chart.Data))
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, "dojo-operator", "dojo-system"
	if install.KubeVersion, err = common.ParseKubeVersion("v1.30.0"); err != nil {
		t.Fatal(err)
	}
	rendered, err := install.RunWithContext(t.Context(), chart, map[string]any{"prometheus": map[string]any{"enabled": true}})
	if err != nil {
		t.Fatal(err)
	}
	found := rendered.(*release.Release)
	if !strings.Contains(found.Manifest, "image: \""+image+"\"\n") {
		t.Errorf("its Deployment does not run %s", image)
	}
	if !strings.Contains(found.Manifest, "--migrate-image="+migrate) {
		t.Errorf("its Deployment does not know %s:\n%s", migrate, found.Manifest)
	}
	checkDocs(t, found.Manifest)
	if strings.Contains(found.Info.Notes, "placeholder") {
		t.Errorf("its notes say that the image is missing:\n%s", found.Info.Notes)
	}
}

// The tested release must link to the docs of its own tag.
const (
	testRepo    = "github.com/you/operators"
	testProject = "https://" + testRepo
	testDocs    = testProject + "/blob/dojo-operator/v0.1.0/docs"
)

func checkDocs(t *testing.T, manifest string) {
	t.Helper()
	for _, want := range []string{
		"--docs-url=$(DOCS_URL)", "value: " + testDocs + "\n",
		"runbook_url: " + testDocs + "/alerts.md#dojooperatordown\n",
	} {
		if !strings.Contains(manifest, want) {
			t.Errorf("the manifest lacks %q", want)
		}
	}
	if strings.Contains(manifest, docsPlaceholder) {
		t.Error("the manifest has the placeholder of docs")
	}
}

func checkManifests(t *testing.T, repo, install string) {
	t.Helper()
	reference, err := name.ParseReference(repo + "/manifests/dojo-operator:v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(reference, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{
		string(manifest.Config.MediaType), string(manifest.Layers[0].MediaType),
		manifest.Annotations["org.opencontainers.image.version"],
	}
	want := []string{"application/vnd.cncf.flux.config.v1+json", "application/vnd.cncf.flux.content.v1.tar+gzip", "v0.1.0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types and version (-want +got):\n%s", diff)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	unpack(t, content, folder)
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	_, applied, _ := strings.Cut(install, "\n") // without the comment in the first line
	if diff := cmp.Diff(applied, string(text)); diff != "" {
		t.Errorf("(-install.yaml +manifests):\n%s", diff)
	}
	checkDocs(t, withAlerts(t, folder))
}

func withAlerts(t *testing.T, folder string) string {
	t.Helper()
	overlay, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(overlay, folder)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s]\ncomponents: [%s/components/prometheus]\n", up, up)
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(manifest)
}

// Without an address of the project, releases have no links to the project.
func TestNoProjectNoLinks(t *testing.T) {
	const image = "example.com/a/dojo-operator:v1.2.3@sha256:0123"
	root := checkout(t).root
	artifacts, err := artifactsOf(root, imageOptions{
		Root: root, Operator: "dojo-operator", Version: "v1.2.3", Repo: "example.com/a", Created: time.Unix(1e9, 0),
	}, image)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	unpack(t, bytes.NewReader(artifacts[0].content), folder)
	files, err := readFolder(filepath.Join(folder, "dojo-operator"))
	if err != nil {
		t.Fatal(err)
	}
	if text := files["Chart.yaml"]; strings.Contains(text, "home:") || strings.Contains(text, "sources:") || strings.Contains(text, "artifacthub.io/links") {
		t.Errorf("the chart links to a project:\n%s", text)
	}
	if !strings.Contains(files["values.yaml"], "\ndocsURL: \"\"\n") {
		t.Error("the chart has an address of docs")
	}
	manifests := t.TempDir()
	unpack(t, bytes.NewReader(artifacts[1].content), manifests)
	install, err := manifest(imageOptions{Root: root, Operator: "dojo-operator", Version: "v1.2.3"}, image)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"install.yaml": string(install), "the manifests": withAlerts(t, manifests)} {
		if strings.Contains(text, "runbook_url") || strings.Contains(text, "--docs-url") {
			t.Errorf("%s have links", name)
		}
	}
}

func unpack(t *testing.T, content io.Reader, folder string) {
	t.Helper()
	decompressed, err := gzip.NewReader(content)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(decompressed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestArtifactsAreReproducible(t *testing.T) {
	const image = "example.com/a/discord-operator:v1.2.3-rc.1@sha256:0123"
	o := imageOptions{
		Operator: "discord-operator", Version: "v1.2.3-rc.1", Repo: "example.com/a", Created: time.Unix(1e9, 0),
	}
	var manifests [2][]string
	for i := range manifests {
		artifacts, err := artifactsOf(checkout(t).root, o, image)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range artifacts {
			manifest, err := a.RawManifest()
			if err != nil {
				t.Fatal(err)
			}
			manifests[i] = append(manifests[i], string(manifest))
		}
	}
	if diff := cmp.Diff(manifests[0], manifests[1]); diff != "" {
		t.Errorf("made again, they differ:\n%s", diff)
	}
	if !strings.Contains(manifests[0][0], "1.2.3-rc.1") {
		t.Errorf("the version is missing: %s", manifests[0][0])
	}
}

func TestArtifactsNeedADigest(t *testing.T) {
	for _, image := range []string{
		"example.com/a/dojo-operator:v1", "example.com/a/dojo-operator@sha256:0", "example.com:5000/a@sha256:0",
	} {
		_, err := artifactsOf(checkout(t).root, imageOptions{Operator: "dojo-operator", Version: "v1.0.0"}, image)
		if err == nil || !strings.Contains(err.Error(), "has no tag or no digest") {
			t.Errorf("%s: the error is %v", image, err)
		}
	}
}
