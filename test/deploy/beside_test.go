// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// all runs .ci/run with fake programs. The parameter fails names the make target that fails.
func (s *scratch) all(fails string) (string, bool) {
	s.t.Helper()
	for _, program := range []string{"go", "chromium"} {
		s.write("bin/"+program, "#!/bin/sh\n")
	}
	s.write("bin/npm", "#!/bin/sh\nexit 1\n")
	targets := "lint compiled compat check integration artifacts run e2e specs-dojo-operator specs-discord-operator"
	s.write("Makefile", targets+":\n\t@echo makes $@; test $@ != '"+fails+"'\n")
	for _, tool := range []string{"release", "charts", "project"} {
		s.write("tools/"+tool+"/go.mod", "")
	}
	s.commit()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.root, ".ci", "run"), "--all")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(s.root, "bin")+":"+os.Getenv("PATH"),
		"XDG_CACHE_HOME="+s.t.TempDir(), "GITHUB_ACTIONS=")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// .ci/run prints the output and time of a background step, and fails if the step fails.
func TestBackgroundSteps(t *testing.T) {
	t.Parallel()
	for fails, want := range map[string][]string{
		"": {
			"makes specs-discord-operator", "makes integration", "makes e2e", "makes artifacts", "makes run",
			" s  e2e\n", " s  playground\n",
		},
		"e2e":         {"makes integration", "makes e2e", " s  e2e FAILED\n", " s  integration\n"},
		"integration": {"makes e2e", " s  integration FAILED\n", " s  e2e\n"},
		"check":       {" s  check FAILED\n"},
	} {
		t.Run(fails, func(t *testing.T) {
			t.Parallel()
			out, passed := newScratch(t).all(fails)
			if passed != (fails == "") {
				t.Errorf("passed: %t", passed)
			}
			for _, text := range want {
				if !strings.Contains(out, text) {
					t.Errorf("%q is not in the output", text)
				}
			}
			if fails == "check" && strings.Contains(out, "makes e2e") {
				t.Error("e2e runs after a failed check")
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}
