// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/modules"
)

var shared = []string{
	"apis", "libs/apply", "libs/conditions", "libs/discordclient", "libs/kubectl", "libs/manager", "test/discordtest",
	"test/environment", "test/testcluster",
}

func tagsOf(t *testing.T, c git.Clone) []string {
	t.Helper()
	found, err := c.Lines(t.Context(), "tag", "--list")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTags(t *testing.T) {
	c := scratch(t)
	release := func(operator, version string) error {
		var out bytes.Buffer
		return tag(t.Context(), &out, c, place(t, c), []string{operator}, version)
	}
	expect := func(message string, tags ...string) {
		t.Helper()
		slices.Sort(tags)
		if got := tagsOf(t, c); !slices.Equal(got, tags) {
			t.Errorf("%s, the tags are %v, want %v", message, got, tags)
		}
	}
	var all []string
	add := func(version string, folders ...string) {
		for _, folder := range folders {
			all = append(all, modules.Tag(folder, version))
		}
	}

	for range 2 {
		if err := release("dojo-operator", "v0.1.0"); err != nil {
			t.Fatal(err)
		}
	}
	add("v0.1.0", append(slices.Clone(shared), "dojo-operator")...)
	expect("after the first release, twice", all...)

	commit(t, c, "change no module")
	if err := release("discord-operator", "v0.3.0"); err != nil {
		t.Fatal(err)
	}
	add("v0.3.0", "discord-operator")
	expect("while no shared module changes", all...)

	change(t, c, "libs/conditions/doc.go")
	if err := release("dojo-operator", "v0.1.1-rc.1"); err != nil {
		t.Fatal(err)
	}
	add("v0.1.1-rc.1", append(slices.Clone(shared), "dojo-operator")...)
	expect("after a change of a shared module", all...)

	change(t, c, "apis/core/v1/reasons.go")
	if err := release("dojo-operator", "v0.1.1-rc.0"); err != nil {
		t.Fatal(err)
	}
	add("v0.1.1-rc.0", "dojo-operator")
	add("v0.1.1", shared...)
	expect("after a change and an older version", all...)

	if err := release("discord-operator", "v0.3.0"); err == nil || !strings.Contains(err.Error(), "take the next version") {
		t.Errorf("a version again, from another commit: %v", err)
	}
	expect("and after a refused one", all...)
	if head, branch := show(t, c, "rev-parse", "HEAD"), show(t, c, "rev-parse", "main"); head != branch || show(t, c, "status", "--porcelain") != "" {
		t.Error("the branch or the working tree has changed")
	}
	checkSource(t, c)
}

func change(t *testing.T, c git.Clone, file string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(c.Root, file), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\n// A change.\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	commit(t, c, "change "+file)
}

func checkSource(t *testing.T, c git.Clone) {
	t.Helper()
	first := show(t, c, "rev-list", "--max-parents=0", "HEAD")
	for revision, want := range map[string]string{"dojo-operator/v0.1.0": first, "apis/v0.1.0": first, "HEAD": show(t, c, "rev-parse", "HEAD")} {
		if got, err := modules.Source(t.Context(), c, revision); err != nil || got != want {
			t.Errorf("the source of %s is %s (%v), want %s", revision, got, err, want)
		}
	}
	show(t, c, "checkout", "--quiet", "dojo-operator/v0.1.0")
	if tagged, err := modules.Tagged(t.Context(), c, place(t, c)); err != nil || !tagged {
		t.Errorf("a tag is checked out: %t, %v", tagged, err)
	}
	if _, err := modules.Plan(t.Context(), c, place(t, c), modules.Operators, "v9.0.0"); err == nil {
		t.Error("a tag's commit may get further tags")
	}
}

func TestPushes(t *testing.T) {
	got := pushes([]string{"apis/v0.1.0", "libs/apply/v0.1.0", "dojo-operator/v0.2.0"})
	if want := "  git push --atomic origin apis/v0.1.0 libs/apply/v0.1.0\n  git push origin dojo-operator/v0.2.0\n"; got != want {
		t.Errorf("it says\n%s", got)
	}
}

// Other projects use the tagged modules from a module proxy, without the workspace.
func TestUsers(t *testing.T) {
	c := scratch(t)
	here := place(t, c)
	var out bytes.Buffer
	if err := tag(t.Context(), &out, c, here, modules.Operators, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	proxy, cache := t.TempDir(), golang(t, c.Root, nil, "env", "GOMODCACHE")
	if n, err := modules.Proxy(t.Context(), c, here, proxy); err != nil || n != len(shared)+len(modules.Operators) {
		t.Fatalf("the proxy has %d versions: %v", n, err)
	}
	folder := t.TempDir()
	env := []string{
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache", "download") + "," + golang(t, c.Root, nil, "env", "GOPROXY"),
		"GONOSUMDB=*", "GONOSUMCHECK=1", "GOSUMDB=off", "GOMODCACHE=" + filepath.Join(folder, "cache"), "GOBIN=" + filepath.Join(folder, "bin"),
		"GOFLAGS=-trimpath -modcacherw", // -modcacherw lets t.TempDir remove the module cache
	}
	t.Run("a program requires the tagged API module", func(t *testing.T) {
		program := t.TempDir()
		text, err := os.ReadFile(filepath.Join(c.Root, "docs", "examples", "list-dojos", "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(program, "main.go"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		golang(t, program, env, "mod", "init", "example.com/list-dojos")
		golang(t, program, env, "mod", "tidy")
		golang(t, program, env, "build", "-o=list-dojos", ".")
		if got := golang(t, program, env, "list", "-m", here.Module("apis")); got != here.Module("apis")+" v0.1.0" {
			t.Errorf("it requires %s", got)
		}
	})
	for operator, plugin := range map[string]string{"dojo-operator": "kubectl-dojo", "discord-operator": "kubectl-discord"} {
		t.Run("go install of "+operator, func(t *testing.T) {
			golang(t, folder, env, "install", here.Module(operator)+"/cmd/...@v0.1.0")
			for _, program := range []string{operator, plugin} {
				if _, err := os.Stat(filepath.Join(folder, "bin", program)); err != nil {
					t.Error(err)
				}
				info := golang(t, folder, env, "version", "-m", filepath.Join(folder, "bin", program))
				if !strings.Contains(info, "\tmod\t"+here.Module(operator)+"\tv0.1.0\t") || strings.Contains(info, "=>") {
					t.Errorf("its build: %s", info)
				}
			}
		})
	}
	t.Run("the go.sum files of a tag's commit are complete", func(t *testing.T) {
		show(t, c, "checkout", "--quiet", "dojo-operator/v0.1.0")
		for _, m := range append(slices.Clone(modules.Operators), "libs/apply", "libs/discordclient", "test/environment") {
			golang(t, filepath.Join(c.Root, m), env, "mod", "verify")
			golang(t, filepath.Join(c.Root, m), append(slices.Clone(env), "GOFLAGS=-mod=readonly -modcacherw"), "list", "-deps", "-test", "./...")
		}
	})
}
