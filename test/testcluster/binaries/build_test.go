// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"jutsu.com/operators/test/testcluster/internal/progress"
	"jutsu.com/operators/test/testcluster/process"
)

func TestVersionPinned(t *testing.T) {
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
	t.Run("go.mod lacks the module of the program", func(t *testing.T) {
		other := build{binary: binary{pkg: "example.test/other"}, source: folder}
		if err := other.pin(); err == nil ||
			!strings.Contains(err.Error(), "requires no module that holds example.test/other") {
			t.Error(err)
		}
	})
}

func TestErrorSaysThatTheProjectIsMissing(t *testing.T) {
	t.Setenv(AssetsEnv, "")
	t.Setenv(EnvtestAssetsEnv, "")
	t.Chdir(t.TempDir())
	_, err := Locate(t.Context(), nil, Etcd, APIServer)
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
		Etcd:      filepath.Join(ours, Etcd), // both folders have it; AssetsEnv has precedence
		Kwok:      filepath.Join(ours, Kwok),
		APIServer: filepath.Join(envtests, APIServer),
		Scheduler: "",
	} {
		if got, err := fromAssets(name); got != want || err != nil {
			t.Errorf("%s: %q, want %q; error %v", name, got, want, err)
		}
	}

	t.Setenv(AssetsEnv, filepath.Join(ours, "nowhere"))
	_, err := Locate(t.Context(), nil, Etcd, APIServer)
	if err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Error(err)
	}
}

func TestSource(t *testing.T) {
	t.Setenv(AssetsEnv, writeFiles(t, map[string]string{Etcd: ""}))
	for value, want := range map[string]string{
		"": "", "auto": "", "build": "", "download": "",
		"internet": "JUTSU_TESTCLUSTER_SOURCE=internet is unknown; set it to auto, build or download",
	} {
		t.Setenv(SourceEnv, value)
		if _, err := Locate(t.Context(), nil, Etcd); (err != nil) != (want != "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
	}
	t.Setenv(SourceEnv, "")
	t.Setenv(MirrorEnv, "mirror.example")
	_, err := Locate(t.Context(), nil, Etcd)
	if err == nil || !strings.Contains(err.Error(), "is not an http or https URL") {
		t.Error(err)
	}
}

type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func builder(w io.Writer) *provider {
	return &provider{source: onlyBuild, progress: w, interval: progress.Interval}
}

func hello(t *testing.T) build {
	t.Helper()
	const program = "package main\n\nvar gitVersion, gitMajor, gitMinor string\n\n" +
		"func main() { print(gitVersion, \" \", gitMajor, \" \", gitMinor) }\n"
	source := writeFiles(t, map[string]string{"go.mod": "module example.test/hello\n\ngo 1.26\n", "main.go": program})
	other := filepath.Join(source, "cmd", "v2")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	return build{
		binary: binary{module: "hello", pkg: "example.test/hello", stamp: []string{"main.gitVersion"}},
		name:   "hello", version: "v1.36.3", source: source, cache: cache,
		target: filepath.Join(cache, "hello-v1.36.3", "hello"),
	}
}

func sibling(b build) build {
	b.name, b.pkg, b.target = "sibling", "example.test/hello/cmd/v2", filepath.Join(filepath.Dir(b.target), "sibling")
	return b
}

func TestBuildStampsTheVersion(t *testing.T) {
	b := hello(t)
	paths, err := builder(nil).provide(t.Context(), []build{b})
	if err != nil || paths["hello"] != b.target {
		t.Fatal(paths, err)
	}
	said, err := exec.Command(b.target).CombinedOutput()
	if err != nil || string(said) != "v1.36.3 1 36" {
		t.Errorf("%q, %v", said, err)
	}
	onlyLockAnd(t, b.cache, "hello-v1.36.3")
}

func TestOneCommandBuildsTwoPrograms(t *testing.T) {
	b := hello(t)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	goCommand(t, "echo \"$@\" >>"+calls+"\nexec "+goTool+" \"$@\"\n")
	var said output
	if _, err := builder(&said).provide(t.Context(), []build{b, sibling(b)}); err != nil {
		t.Fatal(err)
	}
	onlyLockAnd(t, b.cache, "hello-v1.36.3")
	for _, path := range []string{b.target, sibling(b).target} {
		if said, err := exec.Command(path).CombinedOutput(); err != nil || string(said) != "v1.36.3 1 36" {
			t.Errorf("%q, %v", said, err)
		}
	}
	text, err := os.ReadFile(calls)
	if n := strings.Count(string(text), "build -v "); err != nil || n != 1 {
		t.Errorf("%d times go build, error %v:\n%s", n, err, text)
	}
	if !strings.Contains(said.String(), "built hello, sibling v1.36.3 in ") {
		t.Error(said.String())
	}
}

func TestBuildHappensOnce(t *testing.T) {
	b := hello(t)
	var said output
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := builder(&said).provide(context.Background(), []build{b}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(said.String(), "built hello"); n != 1 {
		t.Errorf("built %d times:\n%s", n, said.String())
	}
}

func TestFailedBuildSaysWhy(t *testing.T) {
	for name, test := range map[string]struct{ program, want string }{
		"code that does not compile": {"package main\n\nfunc main() { nonsense() }\n", "undefined: nonsense"},
		"import without a module":    {"package main\n\nimport _ \"example.test/lacking\"\n", "example.test/lacking"},
	} {
		t.Run(name, func(t *testing.T) {
			b := hello(t)
			if err := os.WriteFile(filepath.Join(b.source, "main.go"), []byte(test.program), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := builder(nil).provide(t.Context(), []build{b})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), b.source) {
				t.Error(err)
			}
			onlyLockAnd(t, b.cache)
		})
	}
}

func goCommand(t *testing.T, script string) {
	t.Helper()
	t.Setenv("PATH", writeFiles(t, map[string]string{"go": "#!/bin/sh\n" + script})+
		string(os.PathListSeparator)+os.Getenv("PATH"))
}

// A script replaces the go command. The script leaves files, starts a child process and never ends.
func TestInterruptedBuildLeavesNothing(t *testing.T) {
	for name, verb := range map[string]string{"while modules are fetched": "list", "while it compiles": "build"} {
		t.Run(name, func(t *testing.T) {
			b := hello(t)
			leftover := filepath.Join(b.cache, unfinished+"of-a-killed-process")
			if err := os.Mkdir(leftover, 0o700); err != nil {
				t.Fatal(err)
			}
			pids := filepath.Join(t.TempDir(), "pids")
			goCommand(t, "[ \"$1\" = "+verb+" ] || exit 0\necho half >\"$GOTMPDIR/half-made\"\nsleep 600 &\n"+
				"echo $$ $! >"+pids+".new\nmv "+pids+".new "+pids+"\nwait\n")

			ctx, interrupt := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := builder(nil).provide(ctx, []build{b})
				done <- err
			}()
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
					if process.Alive(pid) {
						return fmt.Errorf("process %s still runs", pid)
					}
					return nil
				})
			}
		})
	}
}

func TestBuildReportsProgress(t *testing.T) {
	b := hello(t)
	proceed := t.TempDir()
	wait := func(step string) string {
		return "while [ ! -e " + filepath.Join(proceed, step) + " ]; do sleep 0.05; done"
	}
	goCommand(t, `case "$*" in
*'-f={{""}}'*) echo 'go: downloading example.test/a v1.0.0' >&2; `+wait("list")+` ;;
list*) echo a; echo b; echo c ;;
build*) echo a; `+wait("build")+`; for i; do case $i in -o=*) touch "${i#-o=}hello" ;; esac; done ;;
esac
`)
	t.Setenv("COMPILE_INTERVAL", "0.1")
	var said output
	p := builder(&said)
	p.interval = 20 * time.Millisecond
	done := make(chan error, 1)
	go func() {
		_, err := p.provide(t.Context(), []build{b})
		done <- err
	}()
	for _, step := range []struct{ name, want string }{
		{"list", "testcluster: fetching modules of hello v1.36.3: 1 so far"},
		{"build", "testcluster: hello v1.36.3: 1 of 3 packages compiled"},
	} {
		eventually(t, func() error {
			if text := said.String(); !strings.Contains(text, step.want) {
				return fmt.Errorf("no %q in:\n%s", step.want, text)
			}
			return nil
		})
		if err := os.WriteFile(filepath.Join(proceed, step.name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
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

func eventually(t *testing.T, check func() error) {
	t.Helper()
	gomega.NewWithT(t).Eventually(check).WithTimeout(2 * time.Minute).WithPolling(20 * time.Millisecond).
		Should(gomega.Succeed())
}
