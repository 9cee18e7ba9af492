// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const (
	testVersion = "v0.0.1-test"
	sizeLimit   = 40e6
)

func checkout(t *testing.T) repository {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return repository{root: root}
}

func elsewhere(t *testing.T, r repository, operator string) string {
	t.Helper()
	folder := t.TempDir()
	for _, part := range []string{"apis", "libs", operator} {
		if err := os.CopyFS(filepath.Join(folder, part), os.DirFS(filepath.Join(r.root, part))); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func pushed(t *testing.T, operator, program string) (imageOptions, *built, v1.ImageIndex) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.Default())))
	t.Cleanup(server.Close)
	r := checkout(t)
	revision, at, err := r.head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	repo := strings.TrimPrefix(server.URL, "http://") + "/jutsu"
	o := imageOptions{
		Root: r.root, Operator: operator, Program: program, Version: testVersion, Revision: revision, Created: at,
		Repo: repo, Push: repo, Folder: t.TempDir(), Platforms: []string{"linux/amd64", "linux/arm64"},
	}
	first, err := buildImage(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Root, o.Folder = elsewhere(t, r, operator), t.TempDir()
	again, err := buildImage(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest != again.Digest {
		t.Errorf("the same commit gives %s and then %s", first.Digest, again.Digest)
	}
	reference, err := name.ParseReference(again.Reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return o, again, index
}

func TestImage(t *testing.T) {
	for program, operator := range map[string]string{
		"discord-operator": "discord-operator", "dojo-operator": "dojo-operator", "dojo-migrate": "dojo-operator",
	} {
		t.Run(program, func(t *testing.T) {
			o, b, index := pushed(t, operator, strings.TrimPrefix(program, operator))
			if err := validate.Index(index); err != nil {
				t.Error(err)
			}
			manifest, err := index.IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]v1.Image{}
			for _, m := range manifest.Manifests {
				image, err := index.Image(m.Digest)
				if err != nil {
					t.Fatal(err)
				}
				found[m.Platform.String()] = image
			}
			if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, slices.Sorted(maps.Keys(found))); diff != "" {
				t.Fatalf("platforms (-want +got):\n%s", diff)
			}
			for platform, image := range found {
				t.Run(platform, func(t *testing.T) {
					checkConfig(t, o, image)
					t.Logf("%s for %s: %.1f MB compressed", program, platform, float64(b.Platforms[platform].Size)/1e6)
					if size := b.Platforms[platform].Size; size < 1e6 || size > sizeLimit {
						t.Errorf("a node pulls %d bytes", size)
					}
				})
			}
			t.Run("the SBOMs name a dependency and are pushed", func(t *testing.T) { checkSBOMs(t, o, b, index) })
			t.Run("the binary prints its version", func(t *testing.T) { checkVersion(t, o, found["linux/"+runtime.GOARCH]) })
			t.Run("the archive has the image alone", func(t *testing.T) { checkArchive(t, o, b) })
		})
	}
}

func checkConfig(t *testing.T, o imageOptions, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" {
		t.Errorf("it runs as %q", config.Config.User)
	}
	if diff := cmp.Diff([]string{"/ko-app/" + o.program()}, config.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint (-want +got):\n%s", diff)
	}
	if !config.Created.Equal(o.Created) {
		t.Errorf("created at %s, the commit is of %s", config.Created, o.Created)
	}
	const prefix = "org.opencontainers.image."
	for label, want := range map[string]string{
		"title": o.program(), "version": testVersion, "revision": o.Revision, "licenses": "Apache-2.0",
		"created": o.Created.Format("2006-01-02T15:04:05Z"),
	} {
		if got := config.Config.Labels[prefix+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	if config.Config.Labels[prefix+"description"] == "" {
		t.Error("the image has no description")
	}
	want := []string{
		"etc", "etc/group", "etc/passwd", "ko-app", "ko-app/" + o.program(), "tmp", "var", "var/run", "var/run/ko",
	}
	if diff := cmp.Diff(want, files(t, image)); diff != "" {
		t.Errorf("files of the image (-want +got):\n%s", diff)
	}
}

func files(t *testing.T, image v1.Image) []string {
	t.Helper()
	var names []string
	read(t, image, func(header *tar.Header, _ io.Reader) { names = append(names, strings.TrimPrefix(header.Name, "/")) })
	slices.Sort(names)
	return names
}

func read(t *testing.T, image v1.Image, file func(*tar.Header, io.Reader)) {
	t.Helper()
	in, out := io.Pipe()
	go func() { out.CloseWithError(crane.Export(image, out)) }()
	defer func() { _ = in.Close() }()
	archive := tar.NewReader(in)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		file(header, archive)
	}
}

func checkSBOMs(t *testing.T, o imageOptions, b *built, index v1.ImageIndex) {
	t.Helper()
	direct := map[string]string{
		"dojo-operator": "sigs.k8s.io/controller-runtime", "discord-operator": "github.com/bwmarrin/discordgo",
		"dojo-migrate": "github.com/pressly/goose/v3",
	}[o.program()]
	for _, platform := range []string{"linux-amd64", "linux-arm64"} {
		text, err := os.ReadFile(filepath.Join(o.Folder, "sbom", o.program()+"-"+platform+".spdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		var bill struct {
			SPDXVersion string
			Packages    []struct{ Name, VersionInfo string }
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(bill.SPDXVersion, "SPDX-2") {
			t.Errorf("the bill for %s is of version %q", platform, bill.SPDXVersion)
		}
		if !slices.ContainsFunc(bill.Packages, func(p struct{ Name, VersionInfo string }) bool { return p.Name == direct }) {
			t.Errorf("the bill for %s does not name %s", platform, direct)
		}
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	digests := []v1.Hash{b.Digest}
	for _, m := range manifest.Manifests {
		digests = append(digests, m.Digest)
	}
	repo, err := name.NewRepository(o.Repo + "/" + o.program())
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range digests { // cosign looks for the SBOM under this tag
		tag := repo.Tag(digest.Algorithm + "-" + digest.Hex + ".sbom")
		if _, err := remote.Image(tag, remote.WithContext(t.Context())); err != nil {
			t.Errorf("no bill of materials is pushed for %s: %v", digest, err)
		}
	}
}

func checkVersion(t *testing.T, o imageOptions, image v1.Image) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the binary is for Linux")
	}
	binary := filepath.Join(t.TempDir(), o.program())
	read(t, image, func(header *tar.Header, in io.Reader) {
		if filepath.Base(header.Name) != o.program() {
			return
		}
		text, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(binary, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	out, err := exec.CommandContext(t.Context(), binary, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := string(out), o.program()+" "+testVersion+"\n"; got != want {
		t.Errorf("--version prints %q, want %q", got, want)
	}
}

// checkArchive expects the entries that containerd and Docker need to import the archive.
func checkArchive(t *testing.T, o imageOptions, b *built) {
	t.Helper()
	file, err := os.Open(b.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	contents := map[string][]byte{}
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if contents[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(contents["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	if contents["oci-layout"] == nil || len(index.Manifests) != 1 || index.Manifests[0].Digest != b.Digest {
		t.Fatalf("it does not hold the image %s alone: %v", b.Digest, index.Manifests)
	}
	if got := index.Manifests[0].Annotations["io.containerd.image.name"]; got != o.containerdName() {
		t.Errorf("the image is called %q, want %q", got, o.imageName())
	}
	for name := range contents {
		if strings.HasPrefix(name, "blobs/") && strings.Count(name, "/") != 2 {
			t.Errorf("a strange file %s", name)
		}
	}
}

func TestBase(t *testing.T) {
	index, err := base()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := "sha256:a02b362b390538be473ccf41bc4fab081e9b477db5aeefcb640521f871218c6f"; digest.String() != want {
		t.Errorf("the base is %s, want %s; after a wanted change put the new digest here", digest, want)
	}
}

func TestBuildFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := imageOptions{Root: checkout(t).root, Operator: "dojo-operator", Version: testVersion, Folder: t.TempDir(), Platforms: []string{"linux/amd64"}}
	if _, err := buildImage(ctx, o); err == nil || !strings.Contains(err.Error(), "build the image of dojo-operator") {
		t.Errorf("the error of an interrupted build is %v", err)
	}
}

// A kubelet would not find an image without a registry in its name.
func TestContainerdName(t *testing.T) {
	for repo, want := range map[string]string{
		"": "docker.io/library/dojo-operator:v0.1.0", "ghcr.io/example": "ghcr.io/example/dojo-operator:v0.1.0",
	} {
		if got := (imageOptions{Operator: "dojo-operator", Version: "v0.1.0", Repo: repo}).containerdName(); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
}
