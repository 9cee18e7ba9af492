// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestCatalog(t *testing.T) {
	t.Parallel()
	registry, err := startRegistry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	tag, err := name.NewTag(registry.repository() + "/postgresql:17.11")
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		tag.String() + "@" + digest.String():                             "",
		tag.String():                                                     "is not pinned by digest",
		tag.String() + "@sha256:" + strings.Repeat("0", 64):              "cannot be pulled",
		registry.repository() + "/gone:17.11@" + digest.String():         "cannot be pulled",
		registry.repository() + "/postgresql:18@" + digest.String()[:20]: "is not pinned by digest",
	} {
		root := t.TempDir()
		file := filepath.Join(root, catalogFile)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Appendf(nil, "spec: {images: [{major: 17, image: %q}]}", what)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := checkCatalog(t.Context(), root, releaseOptions{Operator: "dojo-operator", Repo: "ghcr.io/you"}, &out)
		if want == "" && (err != nil || !strings.Contains(out.String(), "has the 1 images")) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %s", what, err, out.String())
		}
		if err := checkCatalog(t.Context(), root, releaseOptions{Operator: "discord-operator"}, &out); err != nil {
			t.Error(err)
		}
	}
}
