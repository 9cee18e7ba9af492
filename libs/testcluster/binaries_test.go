// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestPin(t *testing.T) {
	const mod = "module example.test/tool\n\nrequire (\n" +
		"\tgo.etcd.io/etcd/api/v3 v3.1.0\n\tgo.etcd.io/etcd/server/v3 v3.6.16\n)\n"
	spec := binary{pkg: "go.etcd.io/etcd/server/v3"}
	folder := writeFiles(t, map[string]string{"go.mod": mod, "go.sum": "a\n"})
	first := build{binary: spec, source: folder}
	if err := first.pin(); err != nil || first.version != "v3.6.16" {
		t.Fatalf("version %q, error %v", first.version, err)
	}

	for name, changed := range map[string]build{
		"go.mod": {binary: spec, source: writeFiles(t,
			map[string]string{"go.mod": mod + "// a comment\n", "go.sum": "a\n"})},
		"go.sum":      {binary: spec, source: writeFiles(t, map[string]string{"go.mod": mod, "go.sum": "b\n"})},
		"build flags": {binary: binary{pkg: spec.pkg, stamp: []string{"main.version"}}, source: folder},
	} {
		t.Run(name+" changed", func(t *testing.T) {
			if err := changed.pin(); err != nil || changed.hash == first.hash {
				t.Errorf("hash %s as before, error %v", changed.hash, err)
			}
		})
	}
	t.Run("not required", func(t *testing.T) {
		other := build{binary: binary{pkg: "example.test/other"}, source: folder}
		if err := other.pin(); err == nil ||
			!strings.Contains(err.Error(), "requires no module that holds example.test/other") {
			t.Error(err)
		}
	})
}

func TestProjectRootIsNamedWhenThereIsNone(t *testing.T) {
	t.Setenv(AssetsEnv, "")
	t.Setenv(EnvtestAssetsEnv, "")
	t.Chdir(t.TempDir())
	_, err := Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "go.work and tools/") || !strings.Contains(err.Error(), AssetsEnv) {
		t.Error(err)
	}
}

func TestAssets(t *testing.T) {
	ours := writeFiles(t, map[string]string{Etcd: "", Kwok: ""})
	envtests := writeFiles(t, map[string]string{Etcd: "", APIServer: ""})
	t.Setenv(AssetsEnv, ours)
	t.Setenv(EnvtestAssetsEnv, envtests)
	for name, want := range map[string]string{
		Etcd:      filepath.Join(ours, Etcd), // in both: the more specific variable wins
		Kwok:      filepath.Join(ours, Kwok),
		APIServer: filepath.Join(envtests, APIServer),
		Scheduler: "",
	} {
		if got, err := fromAssets(name); got != want || err != nil {
			t.Errorf("%s: %q, want %q; error %v", name, got, want, err)
		}
	}

	t.Setenv(AssetsEnv, filepath.Join(ours, "nowhere"))
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Error(err)
	}
}

// hello is a module that builds in a second, in place of Kubernetes.
func hello(t *testing.T) build {
	t.Helper()
	source := writeFiles(t, map[string]string{
		"go.mod": "module example.test/hello\n\ngo 1.26\n",
		"main.go": "package main\n\nvar gitVersion, gitMajor, gitMinor string\n\n" +
			"func main() { print(gitVersion, \" \", gitMajor, \" \", gitMinor) }\n",
	})
	cache := t.TempDir()
	return build{
		binary: binary{pkg: "example.test/hello", stamp: []string{"main.gitVersion"}},
		name:   "hello", version: "v1.36.3", source: source, cache: cache,
		target: filepath.Join(cache, "hello-v1.36.3", "hello"),
	}
}

func TestBuildStampsTheVersion(t *testing.T) {
	b := hello(t)
	if err := buildAll(t.Context(), []build{b}, nil); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(b.target).CombinedOutput()
	if err != nil || string(said) != "v1.36.3 1 36" {
		t.Errorf("%q, %v", said, err)
	}
	onlyLockAnd(t, b.cache, "hello-v1.36.3")
}

func TestBuildHappensOnce(t *testing.T) {
	b := hello(t)
	var said strings.Builder
	progress := &synchronized{w: &said}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := buildAll(context.Background(), []build{b}, progress); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(said.String(), "built hello"); n != 1 {
		t.Errorf("built %d times:\n%s", n, said.String())
	}
}

func TestBuildThatFailsSaysWhy(t *testing.T) {
	b := hello(t)
	if err := os.WriteFile(filepath.Join(b.source, "main.go"), []byte("package main\n\nfunc main() { nonsense() }\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	err := buildAll(t.Context(), []build{b}, nil)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") || !strings.Contains(err.Error(), b.source) {
		t.Error(err)
	}
	onlyLockAnd(t, b.cache)
}

// TestBuildInterruptedLeavesNothing has a script in place of the go command: it leaves files,
// starts a compiler of its own and takes for ever.
func TestBuildInterruptedLeavesNothing(t *testing.T) {
	b := hello(t)
	leftover := filepath.Join(b.cache, unfinished+"of-a-killed-process")
	if err := os.Mkdir(leftover, 0o700); err != nil {
		t.Fatal(err)
	}
	pids := filepath.Join(t.TempDir(), "pids")
	t.Setenv("PATH", writeFiles(t, map[string]string{
		"go": "#!/bin/sh\necho half >\"$GOTMPDIR/half-made\"\nsleep 600 &\necho $$ $! >" + pids + ".new\nmv " + pids +
			".new " + pids + "\nwait\n",
	})+string(os.PathListSeparator)+os.Getenv("PATH"))

	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- buildAll(ctx, []build{b}, nil) }()
	var started []byte
	eventually(t, func() (err error) {
		started, err = os.ReadFile(pids)
		return err
	})
	interrupt()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
	onlyLockAnd(t, b.cache)
	for _, pid := range strings.Fields(string(started)) {
		eventually(t, func() error {
			if alive(pid) {
				return fmt.Errorf("process %s still runs", pid)
			}
			return nil
		})
	}
}

func onlyLockAnd(t *testing.T, folder string, more ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got, want := fmt.Sprint(names), fmt.Sprint(append(more, "lock")); got != want {
		t.Errorf("the cache holds %s, want %s", got, want)
	}
}

func writeFiles(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
