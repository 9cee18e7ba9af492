// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

type compilation struct {
	pkg     string
	module  string // empty for the standard library and the project's own modules
	version string
	bytes   int64
}

type listed struct {
	ImportPath string
	Dir        string
	Name       string
	ForTest    string
	Standard   bool
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	ImportMap  map[string]string
	Module     *struct {
		Path, Version string
		Replace       *struct{ Path, Version string }
	}
}

func listAll(root string, targets []target) (map[string]map[[32]byte]compilation, error) {
	builds := map[string]build{}
	for _, t := range targets {
		for _, b := range t.builds {
			builds[b.id()] = b
		}
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		errs  []error
		slots = make(chan struct{}, 4)
		lists = map[string]map[[32]byte]compilation{}
	)
	for id, b := range builds {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			list, err := b.list(root)
			mu.Lock()
			defer mu.Unlock()
			lists[id], errs = list, append(errs, err)
		})
	}
	group.Wait()
	return lists, errors.Join(errs...)
}

func (b build) id() string { return fmt.Sprint(b) }

func (b build) list(root string) (map[[32]byte]compilation, error) {
	args := []string{"list", "-deps", "-json=ImportPath,Dir,Name,ForTest,Standard,GoFiles,CgoFiles,Imports,ImportMap,Module",
		"-trimpath", "-tags=" + b.tags}
	cgo := "CGO_ENABLED=0"
	if b.tests {
		args = append(args, "-test")
	}
	if b.race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, b.packages...)...)
	cmd.Dir = filepath.Join(root, b.folder)
	cmd.Env = append(os.Environ(), cgo, "GOFLAGS=")
	if b.alone {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list %v in %s: %w: %s", b.packages, b.folder, err, stderr.String())
	}
	return keyed(bytes.NewReader(out), b.race, fileSizes)
}

// keyed gives a package the same key in two builds if the compiler runs only once for both.
func keyed(packages io.Reader, race bool, size func(folder string, files []string) (int64, error)) (
	map[[32]byte]compilation, error) {
	keys, all := map[string][32]byte{}, map[[32]byte]compilation{}
	for decoder := json.NewDecoder(packages); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		c := compilation{pkg: p.ImportPath}
		if p.Module != nil {
			c.module, c.version = p.Module.Path, p.Module.Version
			if r := p.Module.Replace; r != nil {
				c.version = r.Version
			}
		}
		if c.version == "" {
			c.module = "" // a module of the project
		}
		files := slices.Concat(p.GoFiles, p.CgoFiles)
		digest := sha256.New()
		_, _ = fmt.Fprintln(digest, race, p.ImportPath, c.version, strings.Join(files, " "))
		for _, path := range p.Imports {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			key := keys[path]
			_, _ = digest.Write(key[:])
		}
		key := [32]byte(digest.Sum(nil))
		keys[p.ImportPath] = key
		var err error
		if c.bytes, err = size(p.Dir, files); err != nil {
			return nil, err
		}
		all[key] = c
	}
}

// fileSizes ignores generated files, which the go command lists by absolute path.
func fileSizes(folder string, files []string) (sum int64, err error) {
	for _, file := range files {
		if filepath.IsAbs(file) {
			continue
		}
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}
