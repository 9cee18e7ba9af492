// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
)

// TestMain isolates git from the user's configuration.
func TestMain(m *testing.M) {
	for key, value := range map[string]string{
		"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.invalid", "GIT_COMMITTER_NAME": "Test",
		"GIT_COMMITTER_EMAIL": "test@example.invalid", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
	} {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func scratch(t *testing.T) git.Clone {
	t.Helper()
	c := git.Clone{Root: t.TempDir()}
	here := git.Clone{Root: "../.."}
	names, err := here.Lines(t.Context(), "ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		from, to := filepath.Join(here.Root, name), filepath.Join(c.Root, name)
		info, err := os.Lstat(from)
		if err != nil {
			continue // the file is deleted
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	show(t, c, "init", "--quiet", "--initial-branch=main")
	commit(t, c, "all")
	return c
}

func show(t *testing.T, c git.Clone, args ...string) string {
	t.Helper()
	out, err := c.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func commit(t *testing.T, c git.Clone, message string) {
	t.Helper()
	show(t, c, "add", "--all")
	show(t, c, "commit", "--quiet", "--allow-empty", "--message", message)
}

func place(t *testing.T, c git.Clone) location.Location {
	t.Helper()
	l, err := location.Read(c.Root)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func golang(t *testing.T, folder string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), append([]string{"GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0"}, env...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}
