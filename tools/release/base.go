// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user nonroot of distroless images; the pods in deploy/ run as this user.
const user = "65532:65532"

var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// A static Go binary needs only these files. CA certificates for Discord are in the binary.
var baseFiles = []struct {
	header  tar.Header
	content string
}{
	{tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}, ""},
	{tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"},
	{tar.Header{Name: "etc/group", Typeflag: tar.TypeReg, Mode: 0o644}, "root:x:0:\nnonroot:x:65532:\n"},
	{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, ""},
}

func base() (v1.ImageIndex, error) {
	layer, err := baseLayer()
	if err != nil {
		return nil, fmt.Errorf("build the base image: %w", err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
		if err != nil {
			return nil, fmt.Errorf("build the base image: %w", err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("build the base image: %w", err)
		}
		config = config.DeepCopy()
		config.OS, config.Architecture = platform.OS, platform.Architecture
		config.Config.User = user
		config.Config.WorkingDir = "/"
		if image, err = mutate.ConfigFile(image, config); err != nil {
			return nil, fmt.Errorf("build the base image: %w", err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, nil
}

func baseLayer() (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, file := range baseFiles {
		header := file.header
		header.Size = int64(len(file.content))
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, file.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}
