// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"jutsu.com/operators/test/testcluster/project"
)

// Version returns the version of a binary in tools/. Ready-made binaries may have another version.
func Version(name string) (string, error) {
	b, err := newBuild(name)
	if err != nil {
		return "", fmt.Errorf("testcluster: %w", err)
	}
	return b.version, nil
}

func newBuild(name string) (build, error) {
	spec, ok := table[name]
	if !ok {
		return build{}, fmt.Errorf("%q is none of the binaries %v", name, slices.Sorted(maps.Keys(table)))
	}
	root, err := project.Root()
	if err != nil {
		return build{}, fmt.Errorf("%w, whose tools/ pin the versions, or name a folder with ready-made binaries in %s",
			err, AssetsEnv)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return build{}, fmt.Errorf("no cache folder for the binaries: %w", err)
	}
	b := build{
		binary: spec, name: name, source: filepath.Join(root, "tools", spec.module),
		cache: filepath.Join(cache, "jutsu", "testcluster"),
	}
	if err := b.pin(); err != nil {
		return build{}, fmt.Errorf("version of %s: %w", name, err)
	}
	b.target = b.path(b.hash)
	return b, nil
}

// path returns the binary's path in the cache. hash is from the download's checksum, or is b.hash.
func (b build) path(hash string) string {
	folder := strings.Join([]string{b.module, b.version, runtime.GOOS, runtime.GOARCH, hash}, "-")
	return filepath.Join(b.cache, folder, b.name)
}

func (b *build) pin() error {
	path := filepath.Join(b.source, "go.mod")
	mod, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(b.source, "go.sum"))
	if err != nil {
		return err
	}
	file, err := modfile.ParseLax(path, mod, nil)
	if err != nil {
		return err
	}
	for _, require := range file.Require {
		if module := require.Mod.Path; b.pkg == module || strings.HasPrefix(b.pkg, module+"/") {
			b.version = require.Mod.Version
		}
	}
	if b.version == "" {
		return fmt.Errorf("%s requires no module that holds %s", path, b.pkg)
	}
	digest := sha256.Sum256(slices.Concat(mod, sum, []byte(b.ldflags()+b.tags)))
	b.hash = hex.EncodeToString(digest[:6])
	return nil
}

// ldflags sets the version. Without these flags, Kubernetes would have the version v0.0.0-master,
// which clients cannot parse.
func (b build) ldflags() string {
	flags := []string{"-s", "-w"}
	for _, variable := range b.stamp {
		flags = append(flags, "-X", variable+"="+b.version)
		major, rest, _ := strings.Cut(strings.TrimPrefix(b.version, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		prefix := strings.TrimSuffix(variable, "gitVersion")
		flags = append(flags, "-X", prefix+"gitMajor="+major, "-X", prefix+"gitMinor="+minor)
	}
	return strings.Join(flags, " ")
}
