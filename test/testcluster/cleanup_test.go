// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"jutsu.com/operators/test/testcluster/binaries"
	"jutsu.com/operators/test/testcluster/process"
)

// endEnv makes this test binary start a cluster, print its processes, and end as the value selects.
const endEnv = "TESTCLUSTER_END"

func TestMain(m *testing.M) {
	if how := os.Getenv(endEnv); how != "" {
		startAndEnd(how)
	}
	os.Exit(m.Run())
}

func startAndEnd(how string) {
	cluster, err := Start(context.Background(), Options{})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(2)
	}
	_, _ = fmt.Fprint(os.Stdout, cluster.Dir())
	for _, c := range cluster.components {
		_, _ = fmt.Fprint(os.Stdout, " ", c.process.PID())
	}
	_, _ = fmt.Fprintln(os.Stdout, " ", cluster.reaper.PID())
	switch how {
	case "panic":
		panic("on purpose")
	case "exit":
		os.Exit(3)
	case "stop":
		if err := cluster.Stop(); err != nil {
			_, _ = fmt.Fprintln(os.Stdout, err)
			os.Exit(4)
		}
		os.Exit(0)
	default:
		select {} // waits for the signal
	}
}

func TestReaperCleansUpHoweverTheProcessEnds(t *testing.T) {
	t.Parallel()
	if !process.Alive(strconv.Itoa(os.Getpid())) {
		t.Fatal("/proc does not show who runs")
	}
	for how, signal := range map[string]os.Signal{
		"panic":   nil,
		"exit":    nil,
		"SIGKILL": syscall.SIGKILL,
		"SIGINT":  syscall.SIGINT, // without a handler, Ctrl-C ends the program
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), endEnv+"="+how)
			child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			fields := strings.Fields(line)
			dir, pids := fields[0], fields[1:]
			if len(pids) != 3 {
				t.Fatalf("want etcd, kube-apiserver and the reaper: %s", line)
			}
			if signal != nil {
				if err := child.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
			_ = child.Wait() // an error is expected
			eventually(t, func() error {
				if exists(dir) {
					return fmt.Errorf("%s is still there", dir)
				}
				for _, pid := range pids {
					if process.Alive(pid) {
						return fmt.Errorf("process %s still runs", pid)
					}
				}
				return nil
			})
		})
	}
}

func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	prepared, err := binaries.Locate(t.Context(), nil, Options{}.components()...)
	if err != nil {
		t.Fatal(err)
	}
	prepared["program"] = os.Args[0]
	folder := shortTempDir(t)
	for name, path := range prepared {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o777); err != nil { // the other user's TMPDIR
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), filepath.Join(folder, "program"))
	child.Dir = folder
	child.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + folder, "HOME=/nowhere", endEnv + "=stop",
		binaries.EnvtestAssetsEnv + "=" + folder}
	if os.Geteuid() == 0 {
		const nobody = 65534
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "testcluster-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFailedStartSaysWhyAndCleansUp(t *testing.T) {
	prepared, err := binaries.Locate(t.Context(), nil, Options{}.components()...)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		etcd    string // a script that replaces etcd
		options Options
		want    []string
	}{
		"a component ends": {
			etcd: "#!/bin/sh\necho it was the butler >&2\nexit 7\n",
			want: []string{"etcd has ended: exit status 7", "it was the butler"},
		},
		"an unknown flag": {
			options: Options{APIServerArgs: []string{"--no-such-flag"}},
			want:    []string{"kube-apiserver has ended: exit status 1", "unknown flag: --no-such-flag"},
		},
		"a missing CRD": {
			options: Options{CRDs: []string{"no-such-folder"}},
			want:    []string{"CustomResourceDefinitions", "no-such-folder"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			project, temp := t.TempDir(), shortTempDir(t)
			t.Setenv("TMPDIR", temp)
			t.Setenv(binaries.AssetsEnv, assets(t, prepared, test.etcd))
			for _, folder := range []string{"tools", "go.work"} {
				if err := os.Mkdir(filepath.Join(project, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(project)

			_, err := Start(t.Context(), test.options)
			for _, want := range append(test.want, "logs are in "+filepath.Join(project, "out", "testcluster")) {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if kept, _ := filepath.Glob(filepath.Join(project, "out", "testcluster", "*", "etcd.log")); len(kept) != 1 {
				t.Errorf("want etcd's log kept: %v", kept)
			}
		})
	}
}

func TestStartWithoutBinariesSaysWhy(t *testing.T) {
	t.Setenv(binaries.EnvtestAssetsEnv, "")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	t.Chdir(t.TempDir())
	for assets, want := range map[string]string{"": "go.work and tools/", nowhere: "is not a folder"} {
		t.Setenv(binaries.AssetsEnv, assets)
		if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in: %v", want, err)
		}
	}
}

func TestTemporaryFolderWithALongPath(t *testing.T) {
	temp := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	_, err := Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "set TMPDIR to a folder with a shorter path") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Paths of Unix sockets are limited to 108 bytes, so shortTempDir omits the test's name.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tc") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func assets(t *testing.T, paths map[string]string, etcd string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, path := range paths {
		var err error
		if target := filepath.Join(folder, name); name == Etcd && etcd != "" {
			err = os.WriteFile(target, []byte(etcd), 0o700)
		} else {
			err = os.Symlink(path, target)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	gomega.NewWithT(t).Eventually(check).WithTimeout(2 * time.Minute).WithPolling(50 * time.Millisecond).
		Should(gomega.Succeed())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
