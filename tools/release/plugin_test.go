// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/tools/project/location"
)

func checkPlugins(t *testing.T, p *project, operator, version string, platforms []string) {
	t.Helper()
	folder, name := filepath.Join(p.root, "out", "release", operator), plugins[operator]
	sums, err := os.ReadFile(filepath.Join(folder, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		program, file := name, name+"_"+version+"_"+goos+"_"+goarch+".tar.gz"
		if goos == "windows" {
			program, file = name+".exe", strings.Replace(file, ".tar.gz", ".zip", 1)
		}
		bill := "sbom/" + name + "-" + goos + "-" + goarch + ".spdx.json"
		for _, one := range []string{file, bill} {
			if !strings.Contains(string(sums), "  "+one+"\n") {
				t.Errorf("no checksum of %s", one)
			}
		}
		found, mode := unpacked(t, filepath.Join(folder, file))
		if mode[program] != 0o755 || len(found) != 2 || !strings.Contains(string(found["LICENSE"]), "Apache License") {
			t.Errorf("%s holds %v", file, mode)
		}
		checkBill(t, filepath.Join(folder, bill), version)
		if platform == runtime.GOOS+"/"+runtime.GOARCH {
			runs := filepath.Join(t.TempDir(), program)
			if err := os.WriteFile(runs, found[program], 0o700); err != nil {
				t.Fatal(err)
			}
			argument := "version"
			out, err := exec.CommandContext(t.Context(), runs, argument).CombinedOutput()
			if err != nil || !strings.Contains(string(out), version) {
				t.Errorf("%s %s: %v: %s", program, argument, err, out)
			}
		}
	}
}

func unpacked(t *testing.T, file string) (map[string][]byte, map[string]os.FileMode) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found, modes := map[string][]byte{}, map[string]os.FileMode{}
	if strings.HasSuffix(file, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if found[f.Name], err = io.ReadAll(in); err != nil {
				t.Fatal(err)
			}
			modes[f.Name] = f.Mode().Perm()
		}
		return found, modes
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		modes[header.Name] = header.FileInfo().Mode().Perm()
	}
}

func checkBill(t *testing.T, file, version string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var of struct {
		SPDXVersion string        `json:"spdxVersion"`
		Packages    []spdxPackage `json:"packages"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, one := range of.Packages {
		names[one.Name] = one.Version
	}
	if of.SPDXVersion != "SPDX-2.3" || len(names) < 20 || names["std"] == "" || names["k8s.io/apimachinery"] == "" ||
		of.Packages[0].Version != version {
		t.Errorf("%s: %v", file, names)
	}
}

// The release workflow releases the commit of a tag, where modules come from the workspace.
func checkFromTag(t *testing.T, p *project, o releaseOptions) {
	t.Helper()
	again := &project{t: t, origin: p.origin, repository: repository{filepath.Join(t.TempDir(), "again")}}
	p.run(p.root, "clone", "--quiet", "--branch", o.tag(), p.origin.root, again.root)
	out, err := again.release(o)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if diff := cmp.Diff(p.tags(p.origin), again.tags(again.origin)); diff != "" {
		t.Errorf("tags (-before +after):\n%s", diff)
	}
	checkFiles(t, again, o.Operator, strings.TrimPrefix(o.Version, "v"), "- first\n")
	checkPlugins(t, again, o.Operator, o.Version, []string{"linux/amd64"})
	last, err := p.lastTag(t.Context(), o.Operator, "")
	if err != nil || last != o.tag() {
		t.Errorf("on the branch, the last release is %q (%v)", last, err)
	}
}

func TestKrew(t *testing.T) {
	validator, err := filepath.Abs("../../bin/validate-krew-manifest")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(validator); err != nil {
		t.Fatalf("%v: make bin/validate-krew-manifest", err)
	}
	where := location.Location{Repo: "github.com/example/operators", Registry: "ghcr.io/example"}
	for operator, name := range plugins {
		t.Run(name, func(t *testing.T) {
			var all []plugin
			for platform := range strings.SplitSeq(pluginPlatforms, ",") {
				goos, goarch, _ := strings.Cut(platform, "/")
				all = append(all, plugin{Name: name, Program: name, OS: goos, Arch: goarch, File: "f_" + goos + goarch, content: []byte(platform)})
			}
			o := releaseOptions{Operator: operator, Version: "v0.1.0", Where: where}
			folder := t.TempDir()
			if err := writeKrew(folder, where, o, all); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(folder, "krew", strings.TrimPrefix(name, "kubectl-")+".yaml")
			if out, err := exec.CommandContext(t.Context(), validator, "-skip-install", "-manifest="+file).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			checkKrew(t, file, all)
			notes := o.howToPlug(all)
			if !strings.Contains(notes, "--manifest-url=https://github.com/example/operators/releases/download/"+operator+"%2Fv0.1.0/") {
				t.Errorf("the notes: %s", notes)
			}
		})
	}
	t.Run("a project without an address gets no Krew manifest", func(t *testing.T) {
		folder := t.TempDir()
		if err := writeKrew(folder, location.Location{Repo: "example.com/operators"}, releaseOptions{}, []plugin{{}}); err != nil {
			t.Fatal(err)
		}
		if found, _ := filepath.Glob(filepath.Join(folder, "*")); len(found) > 0 {
			t.Errorf("it writes %v", found)
		}
	})
}

// Krew's validator checks neither addresses, checksums nor the length of descriptions.
func checkKrew(t *testing.T, file string, all []plugin) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Spec struct {
			ShortDescription string
			Platforms        []struct{ URI, SHA256 string }
		}
	}
	if err := yaml.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if n := len(manifest.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d characters", n)
	}
	for i, platform := range manifest.Spec.Platforms {
		if !strings.HasSuffix(platform.URI, "%2Fv0.1.0/"+all[i].File) || platform.SHA256 != all[i].sum() {
			t.Errorf("%s is %+v", all[i].File, platform)
		}
	}
	if len(manifest.Spec.Platforms) != len(all) {
		t.Errorf("%d platforms", len(manifest.Spec.Platforms))
	}
}
