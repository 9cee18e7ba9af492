// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jutsu.com/operators/test/testcluster/project"
)

// `make check` runs tools/subjects in this repository; this test runs it in new repositories.
func TestSubjectsOfCommits(t *testing.T) {
	script, err := project.Path("tools/subjects")
	if err != nil {
		t.Fatal(err)
	}
	long := "discord: " + strings.Repeat("ö", 64) // 73 columns
	const skipped = "not checked"
	type list = []string
	for name, c := range map[string]struct {
		main, work list // subjects on main, and on a branch from main's last commit
		arguments  list
		clone      list   // options of git clone: the script then runs in the clone
		want       string // part of the output; "" if there must be no output
	}{
		"a short subject":                               {main: list{"a: b"}, work: list{"c: d", long[:len(long)-2]}},
		"a long subject":                                {main: list{"a: b"}, work: list{long, "c: d"}, want: long},
		"a long subject on the base":                    {main: list{long}, work: list{"c: d"}},
		"a long subject after the argument's commit":    {main: list{"a: b", long}, work: list{"c: d"}, arguments: list{"main^"}, want: long},
		"a long subject of the last commit of main":     {main: list{"a: b", long}, want: long},
		"a long subject before the last commit of main": {main: list{"a: b", long, "c: d"}},
		"one commit":                                    {main: list{long}, want: skipped},
		"no commit":                                     {want: skipped},
		"a clone of a branch":                           {main: list{"a: b"}, work: list{long}, clone: list{"--branch=work"}, want: long},
		"a shallow clone":                               {main: list{"a: b", long}, clone: list{"--depth=1"}, want: skipped},
		"a shallow clone of a branch": {
			main: list{"a: b"}, work: list{long}, clone: list{"--branch=work", "--depth=1"}, want: skipped,
		},
		"two commits of a branch": {
			main: list{"a: b"}, work: list{"c: d", long}, clone: list{"--branch=work", "--depth=2"}, want: long,
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "project")
			git := func(arguments ...string) {
				t.Helper()
				if out, err := runIn(t, folder, "git", arguments...); err != nil {
					t.Fatalf("git %v: %v\n%s", arguments, err, out)
				}
			}
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			git("init", "--quiet", "--initial-branch=main")
			for _, subject := range c.main {
				git("commit", "--quiet", "--allow-empty", "--message", subject)
			}
			if c.work != nil {
				git("switch", "--quiet", "--create=work")
			}
			for _, subject := range c.work {
				git("commit", "--quiet", "--allow-empty", "--message", subject)
			}
			if c.clone != nil {
				git(append(append([]string{"clone", "--quiet"}, c.clone...), "file://"+folder, folder+"-clone")...)
				folder += "-clone"
			}
			out, err := runIn(t, folder, script, c.arguments...)
			if fails := c.want != "" && c.want != skipped; (err != nil) != fails || !strings.Contains(out, c.want) ||
				c.want == "" && out != "" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// runIn runs a program in a folder. The git configuration of the user and of this repository does
// not affect the program.
func runIn(t *testing.T, folder, program string, arguments ...string) (output string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = folder
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT") // git's hooks and GitHub set such variables
	})
	command.Env = append(command.Env, "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := command.CombinedOutput()
	return string(out), err
}
