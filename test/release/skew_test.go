// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/project"
)

// waitLimit is for a playground to start on a busy machine.
const waitLimit = 4 * time.Minute

// TestSkew runs the playground with one operator of its last release, and the other one, the kinds
// and the samples of this checkout: users upgrade one operator after the other.
func TestSkew(t *testing.T) {
	playground, err := gexec.Build("jutsu.com/operators/test/playground")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gexec.CleanupBuildArtifacts)
	for _, o := range environment.All {
		t.Run("an earlier "+o.Name, func(t *testing.T) {
			g := NewWithT(t)
			revision := earlier(t, o)
			cmd := exec.Command(playground, "--once")
			cmd.Env = append(os.Environ(), o.CheckoutVariable()+"="+built(t, o, revision))
			session, err := gexec.Start(cmd, t.Output(), t.Output())
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(func() { <-session.Interrupt().Exited }) // it cleans up in any state
			g.Eventually(session).WithTimeout(waitLimit).Should(gexec.Exit(0))
			g.Expect(session).To(gbytes.Say("All samples are Ready"))
			g.Expect(versionThatRan(g, session, o)).To(Equal(revision))
		})
	}
}

// earlier returns the last release before this checkout, else the last release candidate, else the
// commit before.
func earlier(t *testing.T, o environment.Operator) string {
	t.Helper()
	for _, exclude := range []string{o.Name + "/v*-*", ""} {
		tag, err := git(t, "describe", "--tags", "--abbrev=0", "--match="+o.Name+"/v*", "--exclude="+exclude, "HEAD~1")
		if err == nil {
			return tag
		}
	}
	commit, err := git(t, "rev-parse", "--short", "--verify", "HEAD~1")
	if err != nil {
		t.Skip("this clone has no history to take an earlier version from; `git fetch --unshallow --tags` brings it")
	}
	t.Logf("%s is not released yet (no tag %s/v*): the commit before this one stands for a release", o.Name, o.Name)
	return commit
}

// built checks out an operator at another commit and builds its binary.
func built(t *testing.T, o environment.Operator, revision string) string {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	archive := exec.CommandContext(t.Context(), "git", "archive", "--format=tar", revision, "apis", "libs", "deploy",
		"test", o.Name)
	archive.Dir = root
	run(t, archive, exec.CommandContext(t.Context(), "tar", "--extract", "--directory="+folder))
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w -X main.version="+revision,
		"-o", filepath.Join(folder, "bin", o.Name), "./cmd/"+o.Name)
	build.Dir = filepath.Join(folder, o.Name)
	if _, err := os.Stat(filepath.Join(build.Dir, "main.go")); err == nil {
		build.Args[len(build.Args)-1] = "." // the layout before cmd/
	}
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	run(t, build)
	return folder
}

// run pipes commands.
func run(t *testing.T, commands ...*exec.Cmd) {
	t.Helper()
	var printed bytes.Buffer
	for _, cmd := range commands {
		cmd.Stdin = bytes.NewReader(bytes.Clone(printed.Bytes()))
		var complaint bytes.Buffer
		printed.Reset()
		cmd.Stdout, cmd.Stderr = &printed, &complaint
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v: %s", cmd, err, &complaint)
		}
	}
}

// versionThatRan reads the version from the operator's own log.
func versionThatRan(g *WithT, session *gexec.Session, o environment.Operator) string {
	logs := regexp.MustCompile(`The logs are kept: (\S+)`).FindSubmatch(session.Out.Contents())
	g.Expect(logs).NotTo(BeNil())
	text, err := os.ReadFile(filepath.Join(string(logs[1]), o.Name+".log"))
	g.Expect(err).NotTo(HaveOccurred())
	found := regexp.MustCompile(`starting.*"version": "([^"]+)"`).FindSubmatch(text)
	g.Expect(found).NotTo(BeNil(), "%s", text)
	return string(found[1])
}

func git(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
