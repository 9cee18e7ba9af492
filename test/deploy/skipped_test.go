// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scratch is a git repository with .ci/run and a suite "playground" that depends on input.txt.
type scratch struct {
	t    *testing.T
	root string
}

func newScratch(t *testing.T) *scratch {
	t.Helper()
	s := &scratch{t, t.TempDir()}
	s.write(".ci/run", text(t, ".ci/run"))
	s.write(".ci/inputs", "#!/bin/sh\necho input.txt\n")
	s.write("Makefile", "run:\n\t@echo the suite runs\n")
	s.write("input.txt", "first")
	s.write("other.txt", "first")
	s.git("init", "--quiet")
	s.commit()
	return s
}

func (s *scratch) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scratch) git(args ...string) string {
	s.t.Helper()
	args = append([]string{"-C", s.root, "-c", "user.name=test", "-c", "user.email=test@example.org"}, args...)
	out, err := exec.CommandContext(s.t.Context(), "git", args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *scratch) commit() string {
	s.t.Helper()
	s.git("add", "--all")
	s.git("commit", "--quiet", "--allow-empty", "--message", "a change")
	return s.git("rev-parse", "HEAD")
}

func (s *scratch) run(cache, landed string, args ...string) string {
	s.t.Helper()
	args = append(args, "playground")
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.root, ".ci", "run"), args...)
	cmd.Env = append(os.Environ(), "LANDED="+landed, "XDG_CACHE_HOME="+cache)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// The last landing is the commit in LANDED, or else the commit where the branch left origin/main.
func TestSuitesThatAChangeCannotAffectAreSkipped(t *testing.T) {
	t.Parallel()
	const runs, skipped = "the suite runs", "playground: skipped: none of its 1 input files has changed since"
	for name, c := range map[string]struct {
		change func(s *scratch)
		landed func(former string) string
		args   []string
		want   string
	}{
		"a file outside the inputs has changed":      {change: func(s *scratch) { s.write("other.txt", "second"); s.commit() }, want: skipped},
		"a file outside the inputs is new":           {change: func(s *scratch) { s.write("new.txt", ""); s.commit() }, want: skipped},
		"a file outside the inputs is not committed": {change: func(s *scratch) { s.commit(); s.write("other.txt", "second") }, want: skipped},
		"an input has changed":                       {change: func(s *scratch) { s.write("input.txt", "second"); s.commit() }, want: runs},
		"an input is not committed":                  {change: func(s *scratch) { s.commit(); s.write("input.txt", "second") }, want: runs},
		"an input is new": {change: func(s *scratch) {
			s.write(".ci/inputs", "#!/bin/sh\necho new.txt\n")
			s.commit()
			s.write("new.txt", "")
		}, want: runs},
		"a file outside the inputs was deleted": {change: func(s *scratch) { s.git("rm", "--quiet", "other.txt"); s.commit() }, want: runs},
		"the last landing is HEAD": {change: func(s *scratch) { s.commit() },
			landed: func(string) string { return "HEAD" }, want: runs},
		"the last landing is unknown": {change: func(s *scratch) { s.commit() },
			landed: func(string) string { return strings.Repeat("0", 40) }, want: runs},
		"no last landing": {change: func(s *scratch) { s.commit() }, landed: func(string) string { return "" }, want: runs},
		"the flag --all is set": {change: func(s *scratch) { s.write("other.txt", "second"); s.commit() },
			args: []string{"--all"}, want: runs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t)
			landed := s.git("rev-parse", "HEAD")
			c.change(s)
			if c.landed != nil {
				landed = c.landed(landed)
			}
			if out := s.run(t.TempDir(), landed, c.args...); !strings.Contains(out, c.want) {
				t.Errorf("%q is expected in: %s", c.want, out)
			}
		})
	}
}

func TestSuitesThatHavePassedHereAreSkipped(t *testing.T) {
	t.Parallel()
	s, cache := newScratch(t), t.TempDir()
	if out := s.run(cache, ""); !strings.Contains(out, "the suite runs") {
		t.Errorf("the first run: %s", out)
	}
	if out := s.run(cache, ""); !strings.Contains(out, "skipped: its 1 input files are unchanged since it passed at ") {
		t.Errorf("the second run: %s", out)
	}
	s.write("input.txt", "second")
	if out := s.run(cache, ""); !strings.Contains(out, "the suite runs") {
		t.Errorf("a run after a change: %s", out)
	}
}
