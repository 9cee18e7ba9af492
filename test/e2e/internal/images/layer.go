// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func writeLayer(w io.Writer, files map[string]string) error {
	archive := tar.NewWriter(w)
	made := map[string]bool{"/": true}
	for _, target := range slices.Sorted(maps.Keys(files)) {
		if err := writeFolders(archive, path.Dir(target), made); err != nil {
			return err
		}
		if err := writeFile(archive, target, files[target]); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeFolders(archive *tar.Writer, folder string, made map[string]bool) error {
	if made[folder] {
		return nil
	}
	made[folder] = true
	if err := writeFolders(archive, path.Dir(folder), made); err != nil {
		return err
	}
	return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder[1:] + "/", Mode: 0o755})
}

func writeFile(archive *tar.Writer, target, source string) (err error) {
	if link, ok := strings.CutPrefix(source, "-> "); ok {
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: target[1:], Linkname: link, Mode: 0o777})
	}
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(
		&tar.Header{Typeflag: tar.TypeReg, Name: target[1:], Size: info.Size(), Mode: 0o755}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}
