// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/tools/project/git"
)

type history struct {
	repository
	t *testing.T
}

func newHistory(t *testing.T, commits ...string) history {
	t.Helper()
	h := history{repository{t.TempDir()}, t}
	h.run("init", "--quiet", "--initial-branch=main")
	for _, message := range commits {
		h.commit(message)
	}
	return h
}

func (h history) run(args ...string) string {
	h.t.Helper()
	out, err := h.git(h.t.Context(), args...)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func (h history) commit(message string) {
	h.t.Helper()
	h.run("commit", "--quiet", "--allow-empty", "--message", message)
}

func (h history) at(message string) string {
	h.t.Helper()
	return h.run("log", "--all", "-1", "--format=%H", "--grep=^"+message+"$")
}

func (h history) pin(commit string) {
	h.t.Helper()
	file := filepath.Join(h.root, baselineFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(commit+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func TestFormer(t *testing.T) {
	const dojo = "dojo-operator"
	lost := strings.Repeat("0123456789", 4)
	for name, test := range map[string]struct {
		before  func(history) // changes a repository that has the commits a to d, and a as the baseline
		version string
		commit  string // the message of the expected commit
		refused string
	}{
		"no tag": {version: baselineVersion, commit: "a"},
		"a tag": {before: func(h history) { h.run("tag", dojo+"/v0.1.0", h.at("b")) },
			version: "v0.1.0", commit: "b"},
		"the newest version, not the newest tag": {before: func(h history) {
			h.run("tag", dojo+"/v0.10.0", h.at("b"))
			h.run("tag", dojo+"/v0.9.1", h.at("c"))
		}, version: "v0.10.0", commit: "b"},
		"only the other operator's tag": {before: func(h history) { h.run("tag", "discord-operator/v0.1.0", h.at("b")) },
			version: baselineVersion, commit: "a"},
		"only a prerelease": {before: func(h history) { h.run("tag", dojo+"/v0.2.0-rc.1", h.at("b")) },
			version: baselineVersion, commit: "a"},
		"only a tag of HEAD": {before: func(h history) { h.run("tag", dojo+"/v0.1.0") },
			version: baselineVersion, commit: "a"},
		"a tag of HEAD and an older tag": {before: func(h history) {
			h.run("tag", dojo+"/v0.1.0", h.at("c"))
			h.run("tag", dojo+"/v0.2.0")
		}, version: "v0.1.0", commit: "c"},
		"a tag on another branch": {before: func(h history) {
			h.run("checkout", "--quiet", "-b", "other", h.at("b"))
			h.commit("e")
			h.run("tag", dojo+"/v0.3.0")
			h.run("checkout", "--quiet", "main")
		}, version: baselineVersion, commit: "a"},
		"a tag on a commit of its own": {before: func(h history) {
			h.run("checkout", "--quiet", "--detach", h.at("c"))
			if err := os.WriteFile(filepath.Join(h.root, "go.work"), nil, 0o600); err != nil {
				h.t.Fatal(err)
			}
			h.run("add", "go.work")
			h.commit("release: require the shared modules at v0.1.0")
			h.run("tag", "--annotate", "--message", "x", dojo+"/v0.1.0")
			h.run("checkout", "--quiet", "main")
		}, version: "v0.1.0", commit: "c"},
		"the baseline is missing": {before: func(h history) { h.pin(lost) },
			refused: `this clone lacks the commit "` + lost + `" of .ci/baseline, which dojo-operator is compared with: ` +
				"fetch it by `git fetch --tags`, or in a shallow clone by `git fetch --unshallow --tags`"},
		"the baseline is missing, and not needed": {before: func(h history) {
			h.pin(lost)
			h.run("tag", dojo+"/v0.1.0", h.at("b"))
		}, version: "v0.1.0", commit: "b"},
		"the baseline is an option of git": {before: func(h history) { h.pin("--all") },
			refused: "this clone lacks the commit"},
		"neither a tag nor a baseline": {before: func(h history) {
			if err := os.Remove(filepath.Join(h.root, baselineFile)); err != nil {
				h.t.Fatal(err)
			}
		}, refused: "dojo-operator has neither a release (no tag dojo-operator/v*) nor a baseline (no .ci/baseline)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, "a", "b", "c", "d")
			h.pin(h.at("a"))
			if test.before != nil {
				test.before(h)
			}
			got, err := h.before(t.Context(), dojo)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("the error is %v, want %s", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := &former{Operator: dojo, Version: test.version, Commit: h.at(test.commit),
				Baseline: test.version == baselineVersion}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// In a shallow clone, before fails, even if the clone has the tag of the release.
func TestFormerOfShallowClone(t *testing.T) {
	h := newHistory(t, "a", "b", "c")
	h.pin(h.at("a"))
	h.run("tag", "dojo-operator/v0.1.0", h.at("b"))
	h.run("add", "--all")
	h.commit("d")
	shallow := repository{filepath.Join(t.TempDir(), "shallow")}
	h.run("clone", "--quiet", "--depth=1", "file://"+h.root, shallow.root)
	for _, tags := range []bool{false, true} {
		if tags {
			_, err := shallow.git(t.Context(), "fetch", "--quiet", "--depth=1", "origin", "tag", "dojo-operator/v0.1.0")
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := shallow.before(t.Context(), "dojo-operator")
		if err == nil || !strings.Contains(err.Error(), "`git fetch --unshallow --tags`") {
			t.Errorf("with tags %t, the error is %v", tags, err)
		}
	}
}

func TestBaseline(t *testing.T) {
	r, folder := checkout(t), filepath.Join(t.TempDir(), "scratch")
	const operator = "dojo-operator"
	f, err := r.baseline(t.Context(), operator)
	if err != nil {
		t.Fatal(err)
	}
	if f == nil {
		t.Skip("there is no baseline any more: both operators are released")
	}
	if err := r.checkOut(t.Context(), f, folder); err != nil {
		t.Fatal(err)
	}
	scratch := git.Clone{Root: folder}
	commits, err := scratch.Lines(t.Context(), "rev-parse", "HEAD", operator+"/v0.1.0-rc.1~", "apis/v0.1.0-rc.1~")
	if diff := cmp.Diff(slices.Repeat([]string{f.Commit}, 3), commits); err != nil || diff != "" {
		t.Errorf("HEAD and the released commits (%v) (-want +got):\n%s", err, diff)
	}
	all, err := (imageOptions{Root: folder, Operator: operator}).withCompanion()
	if err != nil || len(all) != 1 {
		t.Errorf("%d images at the baseline, which has no dojo-migrate (%v)", len(all), err)
	}
	all, err = (imageOptions{Root: r.root, Operator: operator}).withCompanion()
	if err != nil || len(all) != 2 {
		t.Errorf("%d images, want two (%v)", len(all), err)
	}
	for _, operator := range operators {
		found, err := r.changes(t.Context(), &former{Operator: operator, Commit: f.Commit, Baseline: true})
		if err != nil || slices.ContainsFunc(found, finding.breaks) {
			t.Errorf("%s: %v: %s", operator, err, found)
		}
	}
}

func TestAccept(t *testing.T) {
	const kind, field = "dojos.core.jutsu.com v1 ", "spec.postgres.cluster.instances"
	var all []finding
	for _, a := range accepted {
		for _, field := range a.Fields {
			all = append(all, finding{Breaking: true, Where: a.Kind + " " + field, What: a.Change + " : x"})
		}
	}
	kinds := []string{dojos}
	if err := accept(slices.Clone(all), kinds); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		change func(*finding)
		stale  bool
	}{
		"another field":                    {func(f *finding) { f.Where += "2" }, true},
		"another change":                   {func(f *finding) { f.What = "default value changed : x" }, true},
		"no longer breaking":               {func(f *finding) { f.Breaking = false }, true},
		"another value in the same change": {func(f *finding) { f.What += "y" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			found := slices.Clone(all)
			i := slices.IndexFunc(found, func(f finding) bool { return f.Where == kind+field })
			test.change(&found[i])
			err := accept(found, kinds)
			if stale := err != nil; stale != test.stale {
				t.Errorf("the error is %v", err)
			}
			if breaks := slices.ContainsFunc(found, finding.breaks); breaks == (err == nil) && found[i].Breaking {
				t.Errorf("with the error %v, a finding breaks: %t", err, breaks)
			}
		})
	}
	if err := accept(nil, []string{channels}); err != nil {
		t.Errorf("acceptances of the other operator's kinds: %v", err)
	}
}

func TestPrintFormer(t *testing.T) {
	h := newHistory(t)
	text := []byte("repo: example.com/x\nregistry: example.com/y\n")
	if err := os.WriteFile(filepath.Join(h.root, "project.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	h.run("add", "--all")
	h.commit("a")
	h.run("tag", "dojo-operator/v0.1.0")
	h.commit("b")
	folder := filepath.Join(t.TempDir(), "scratch")
	var out bytes.Buffer
	if err := printFormer(t.Context(), h.repository, &out, "dojo-operator", folder); err != nil {
		t.Fatal(err)
	}
	if want := "v0.1.0 " + h.at("a") + "\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", &out, want)
	}
	if at, err := (repository{folder}).git(t.Context(), "rev-parse", "HEAD"); err != nil || at != h.at("a") {
		t.Errorf("checked out is %s (%v)", at, err)
	}
	err := printFormer(t.Context(), h.repository, &out, "dojo-operator", h.root)
	if err == nil || !strings.Contains(err.Error(), "already exists and is not an empty directory") {
		t.Errorf("into a folder with files: %v", err)
	}
}
