// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/ko/pkg/build"
)

// writeArchive writes an OCI archive for ctr, podman, kind, and Docker with the containerd image
// store. An existing file stays until the new archive is complete.
func writeArchive(file string, image build.Result, o imageOptions) (err error) {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	// Readers of the OCI layout use the first name. containerd uses the second name.
	named := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": o.imageName(), "io.containerd.image.name": o.containerdName(),
	})
	switch i := image.(type) {
	case v1.ImageIndex:
		err = path.AppendIndex(i, named)
	case v1.Image:
		err = path.AppendImage(i, named)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := tarFolder(file+".part", folder); err != nil {
		return errors.Join(err, os.Remove(file+".part"))
	}
	return os.Rename(file+".part", file)
}

// Equal files give equal tar files.
func tarFolder(file, folder string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return addFile(w, path, filepath.ToSlash(relative))
	})
	return errors.Join(err, w.Close())
}

func addFile(w *tar.Writer, path, name string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // the file is only read, so an error of Close means no loss
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
