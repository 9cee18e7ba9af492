// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, log, script string, reaper *Reaper) *Process {
	t.Helper()
	p, err := Start("the script", log, exec.Command("/bin/sh", "-c", script), reaper)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.Await(ctx, func(context.Context) error {
		if text, _ := os.ReadFile(log); strings.Contains(string(text), "ready") {
			return nil
		}
		return errors.New("it has not printed anything")
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		code   int
		err    string
	}{
		"the process ends on SIGTERM":     {script: "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done", code: 3},
		"a child of the process ends too": {script: "sleep 600 & echo ready; wait", code: -1},
		"the process ignores SIGTERM": {
			script: "trap '' TERM; echo ready; while :; do sleep 1; done", code: -1, err: "and was killed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shell(t, filepath.Join(t.TempDir(), "logs", "log"), test.script, nil)
			if !p.Running() || p.ExitCode() != -1 {
				t.Errorf("running: %t, exit code %d", p.Running(), p.ExitCode())
			}
			grace := 30 * time.Second
			if test.err != "" {
				grace = 100 * time.Millisecond
			}
			err := p.Stop(grace)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Error(err)
			}
			if p.Running() || p.ExitCode() != test.code {
				t.Errorf("running: %t, exit code %d, want %d", p.Running(), p.ExitCode(), test.code)
			}
			if err := p.Stop(0); err != nil {
				t.Errorf("Stop of an ended process: %v", err)
			}
			if err := p.Signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("a signal to an ended process: %v", err)
			}
		})
	}
}

func TestErrSaysHowTheProcessEnded(t *testing.T) {
	t.Parallel()
	const thirty = "i=0; while [ $i -lt 30 ]; do echo $i; i=$((i+1)); done"
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("panic: of another process\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ script, want, not string }{
		"the error has the last lines of the log":  {"echo first; " + thirty + "; exit 4", "exit status 4", "first"},
		"the error has the first lines of a panic": {"echo first; echo 'panic: oh no'; " + thirty, "panic: oh no", "first"},
	} {
		p, err := Start("the script", log, exec.Command("/bin/sh", "-c", test.script), nil)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Exited()
		text := p.Err().Error()
		for _, want := range []string{"the script has ended: ", test.want, log} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in: %s", name, want, text)
			}
		}
		if strings.Contains(text, test.not) || strings.Contains(text, "another process") {
			t.Errorf("%s: too much: %s", name, text)
		}
	}
}

func TestAwaitEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	p, err := Start("the script", filepath.Join(t.TempDir(), "log"), exec.Command("/bin/sh", "-c", "exit 5"), nil)
	if err != nil {
		t.Fatal(err)
	}
	never := func(context.Context) error { return errors.New("never") }
	if err := p.Await(t.Context(), never); err == nil || !strings.Contains(err.Error(), "exit status 5") {
		t.Error(err)
	}
}

func TestReaper(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	reaper, err := NewReaper(folder)
	if err != nil {
		t.Fatal(err)
	}
	p := shell(t, filepath.Join(folder, "log"), "trap '' TERM; echo ready; while :; do sleep 1; done", reaper)
	if err := reaper.Clean(); err != nil {
		t.Error(err)
	}
	<-p.Exited()
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
