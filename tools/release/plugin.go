// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var plugins = map[string]string{"dojo-operator": "kubectl-dojo", "discord-operator": "kubectl-discord"}

// Only linux is tested.
const pluginPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

type plugin struct {
	// Name is the program's name, such as kubectl-dojo.
	Name     string
	OS, Arch string
	// Program is the name of the program in the archive File.
	File, Program string
	content       []byte
	bill          []byte
}

func (p plugin) sum() string { return fmt.Sprintf("%x", sha256.Sum256(p.content)) }

// buildPlugins cross-compiles static programs. Each build of a commit gives the same archives.
func buildPlugins(ctx context.Context, o imageOptions, platforms []string) (found []plugin, err error) {
	license, err := os.ReadFile(filepath.Join(o.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	for _, platform := range platforms {
		p := plugin{Name: plugins[o.Operator], Program: plugins[o.Operator]}
		p.OS, p.Arch, _ = strings.Cut(platform, "/")
		archived := ".tar.gz"
		if p.OS == "windows" {
			archived = ".zip"
			p.Program += ".exe"
		}
		p.File = strings.Join([]string{p.Name, o.Version, p.OS, p.Arch}, "_") + archived
		file := filepath.Join(scratch, p.OS+p.Arch)
		if err := compile(ctx, o, p, file); err != nil {
			return nil, err
		}
		if err := p.fill(file, string(license), o.Created); err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

func compile(ctx context.Context, o imageOptions, p plugin, file string) error {
	module, err := moduleOf(o.Root, o.Operator)
	if err != nil {
		return err
	}
	workspace, err := workspaceOf(o.Root, module)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version="+o.Version,
		"-o="+file, "./cmd/"+p.Name)
	cmd.Dir = filepath.Join(o.Root, o.Operator)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=", "GOARM64=", "CGO_ENABLED=0", "GOWORK="+workspace,
		"GOOS="+p.OS, "GOARCH="+p.Arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s/%s: %w\n%s", p.Name, p.OS, p.Arch, err, out)
	}
	return nil
}

func (p *plugin) fill(file, license string, at time.Time) error {
	program, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	if p.bill, err = bill(*p, sha256.Sum256(program), info, at); err != nil {
		return err
	}
	files := map[string]string{p.Program: string(program), "LICENSE": license}
	if p.OS == "windows" {
		p.content, err = packZip(files, p.Program, at)
		return err
	}
	p.content, err = pack(files, "", at, p.Program)
	return err
}

// packZip returns a zip archive for Windows. Equal files give equal archives.
func packZip(files map[string]string, program string, at time.Time) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: file, Method: zip.Deflate, Modified: at}
		header.SetMode(modeOf(file, program))
		out, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := out.Write([]byte(files[file])); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}

func writePlugins(folder string, all []plugin) error {
	sboms := filepath.Join(folder, "sbom")
	if err := os.MkdirAll(sboms, 0o755); err != nil {
		return err
	}
	for _, p := range all {
		bill := fmt.Sprintf("%s-%s-%s.spdx.json", p.Name, p.OS, p.Arch)
		if err := os.WriteFile(filepath.Join(sboms, bill), p.bill, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, p.File), p.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
