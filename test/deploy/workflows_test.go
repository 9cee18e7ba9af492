// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/testcluster/project"
)

var (
	action   = regexp.MustCompile(`(?m)^ *(?:- )?uses: (.*)$`)
	pinned   = regexp.MustCompile(`^[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	makeCall = regexp.MustCompile(`(?m)^[^#\n]*\bmake "?([a-z][a-z0-9-]*)`)
)

// Each action is pinned to one commit, with the commit's tag in a comment.
func TestActionsArePinned(t *testing.T) {
	used := map[string]string{}
	for name, content := range workflows(t) {
		for _, use := range action.FindAllStringSubmatch(content, -1) {
			if strings.HasPrefix(use[1], "./") {
				continue
			}
			if !pinned.MatchString(use[1]) {
				t.Errorf("%s uses %s; write OWNER/NAME@COMMIT # vMAJOR.MINOR.PATCH", name, use[1])
			}
			what, _, _ := strings.Cut(use[1], "@")
			if other := used[what]; other != "" && other != use[1] {
				t.Errorf("%s uses %s, and another workflow %s", name, use[1], other)
			}
			used[what] = use[1]
		}
	}
	if len(used) < 4 {
		t.Errorf("only %v found", used)
	}
}

// All called make targets exist, and ci.yaml runs each step of .ci/run once.
func TestWorkflowsRunWhatExists(t *testing.T) {
	called := workflows(t)
	called[".ci/run"] = text(t, ".ci/run")
	for name, content := range called {
		for _, call := range makeCall.FindAllStringSubmatch(content, -1) {
			if target := call[1]; target != "release-" && target != "specs-" { // the name of an operator follows
				makes(t, name, target)
			}
		}
	}

	for _, job := range regexp.MustCompile(`\{name: ([a-z0-9-]+)`).FindAllStringSubmatch(called["weekly.yaml"], -1) {
		makes(t, "weekly.yaml", job[1])
	}

	var ci struct {
		Jobs struct {
			Run struct {
				Strategy struct {
					Matrix struct {
						Include []struct{ Steps string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(called["ci.yaml"]), &ci); err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, job := range ci.Jobs.Run.Strategy.Matrix.Include {
		for _, step := range strings.Fields(job.Steps) {
			ran[step]++
		}
	}
	var all []string
	for _, steps := range regexp.MustCompile(`(?m)^\t(?:steps|beside) ([a-z].*)$`).FindAllStringSubmatch(called[".ci/run"], -1) {
		all = append(all, strings.Fields(steps[1])...)
	}
	tests := regexp.MustCompile(`(?m)^test: ([^#]*)##`).FindStringSubmatch(text(t, "Makefile"))
	if all == nil || tests == nil {
		t.Fatal("no list of steps in .ci/run, or no target test in the Makefile")
	}
	want := strings.ReplaceAll(" "+strings.Join(all, " ")+" ", " test ", " "+tests[1])
	want = strings.ReplaceAll(want, " specs ", " specs-dojo-operator specs-discord-operator ")
	for _, step := range strings.Fields(want) {
		if ran[step] != 1 {
			t.Errorf("ci.yaml runs the step %s of .ci/run %d times", step, ran[step])
		}
		delete(ran, step)
	}
	for step := range ran {
		t.Errorf("ci.yaml runs the step %s, which .ci/run does not", step)
	}
}

func makes(t *testing.T, file, target string) {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "make", "-C", root, "--dry-run", target).
		CombinedOutput(); err != nil {
		t.Errorf("%s makes %s: %v\n%s", file, target, err, out)
	}
}

// A called workflow has at most the permissions of its caller, so a caller must grant all
// permissions that the called workflow needs.
func TestProvenance(t *testing.T) {
	type job struct {
		Permissions map[string]string
		Uses        string
		Steps       []struct {
			Uses string
			With map[string]any
		}
	}
	read := func(name string) (jobs map[string]job) {
		var workflow struct{ Jobs map[string]job }
		if err := yaml.Unmarshal([]byte(workflows(t)[name]), &workflow); err != nil {
			t.Fatal(err)
		}
		return workflow.Jobs
	}
	release := read("release.yaml")["release"]
	var attested []string
	for _, step := range release.Steps {
		if strings.HasPrefix(step.Uses, "actions/attest-build-provenance@") {
			for subject := range step.With {
				attested = append(attested, subject)
			}
		}
	}
	slices.Sort(attested)
	if want := []string{"push-to-registry", "subject-checksums", "subject-digest", "subject-name"}; !slices.Equal(attested, want) {
		t.Errorf("it attests %v, want %v", attested, want)
	}
	for _, needed := range []string{"id-token", "attestations", "packages"} {
		if release.Permissions[needed] != "write" {
			t.Errorf("release.yaml may not write %s", needed)
		}
	}
	for _, operator := range []string{"dojo-operator", "discord-operator"} {
		caller := read("release-" + operator + ".yaml")["release"]
		if caller.Uses != "./.github/workflows/release.yaml" {
			t.Errorf("the release of %s uses %q", operator, caller.Uses)
		}
		if !maps.Equal(caller.Permissions, release.Permissions) {
			t.Errorf("the release of %s gives %v, and release.yaml needs %v", operator, caller.Permissions, release.Permissions)
		}
	}
}

func workflows(t *testing.T) map[string]string {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("found %v, %v", files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		all[filepath.Base(file)] = text(t, filepath.Join(".github", "workflows", filepath.Base(file)))
	}
	return all
}
