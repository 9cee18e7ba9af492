// SPDX-License-Identifier: Apache-2.0

package images

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image describes an image to build.
type Image struct {
	// Push replaces the registry in Name.
	Name string
	// Files maps paths in the image to files of this machine, or to "-> TARGET" for symbolic links.
	// Files take precedence over Archive. Every user may execute them.
	Files map[string]string
	// Archive is an optional tar file with further files of the image.
	Archive string
	// User is a numeric user id. The default, 65532, owns no file.
	User       string
	Entrypoint []string
}

// Push pushes the image to a registry (host:port) and returns NAME@DIGEST. Unless the host is local or
// has a private IPv4 address, Push requires HTTPS.
func (i Image) Push(registry string) (reference string, err error) {
	made, err := i.make()
	if err != nil {
		return "", fmt.Errorf("make image %s: %w", i.Name, err)
	}
	from, err := name.NewTag(i.Name)
	if err != nil {
		return "", err
	}
	to, err := name.NewTag(registry + "/" + from.RepositoryStr() + ":" + from.TagStr())
	if err != nil {
		return "", err
	}
	if err := remote.Write(to, made); err != nil {
		return "", fmt.Errorf("push image %s: %w", to, err)
	}
	digest, err := made.Digest()
	if err != nil {
		return "", err
	}
	return to.Context().Digest(digest.String()).String(), nil
}

func (i Image) make() (v1.Image, error) {
	var layers []v1.Layer
	for _, opener := range i.openers() {
		// The image stays on this machine, so compression would only cost time.
		layer, err := tarball.LayerFromOpener(opener, tarball.WithCompressionLevel(gzip.NoCompression))
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	made, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.User = i.User
	if i.User == "" {
		config.Config.User = "65532"
	}
	config.Config.Entrypoint = i.Entrypoint
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	return mutate.ConfigFile(made, config)
}

func (i Image) openers() []tarball.Opener {
	var openers []tarball.Opener
	if i.Archive != "" {
		openers = append(openers, func() (io.ReadCloser, error) { return os.Open(i.Archive) })
	}
	return append(openers, func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(writeLayer(writer, i.Files)) }()
		return reader, nil
	})
}
