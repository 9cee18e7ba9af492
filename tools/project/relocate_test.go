// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
)

// Each text is in two parts, because Move fails if a file contains the new address.
const (
	elsewhere      = "github.com" + "/tengen/barriers"
	otherRegistry  = "quay.io" + "/tengen"
	furtherAddress = "https://github.com" + "/tengen/barriers/blob/main/"
)

func TestRelocation(t *testing.T) {
	c := scratch(t)
	home := place(t, c)
	relocate := func(repo, registry, changed string) {
		t.Helper()
		var out bytes.Buffer
		if err := move(t.Context(), &out, c, repo, registry); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(changed).MatchString(out.String()) {
			t.Errorf("to %s: %s", repo, out.String())
		}
	}

	relocate(elsewhere, otherRegistry, `^\d{3,} files changed`)
	if l := place(t, c); l != (location.Location{Repo: elsewhere, Registry: otherRegistry}) {
		t.Errorf("%s says %+v", location.File, l)
	}
	for _, old := range []string{home.Repo, home.Registry} {
		if found, err := c.Run(t.Context(), "grep", "--fixed-strings", old); err == nil {
			t.Errorf("%s is left in\n%s", old, found)
		}
	}
	checkForms(t, c, furtherAddress)
	commit(t, c, "move")
	relocate(elsewhere, otherRegistry, "^0 files changed")
	t.Run("the moved project builds", func(t *testing.T) { checkBuilds(t, c) })
	if err := refused(t, c); err == nil || !strings.Contains(err.Error(), "contains ") {
		t.Errorf("a move to a place that a file already names: %v", err)
	}

	relocate(home.Repo, home.Registry, `^\d{3,} files changed`)
	generateCharts(t, c)
	if changed := show(t, c, "diff", "--stat", "HEAD~1"); changed != "" {
		t.Errorf("back again, these differ:\n%s", changed)
	}
}

func refused(t *testing.T, c git.Clone) error {
	t.Helper()
	return move(t.Context(), &bytes.Buffer{}, c, "sigs.k8s.io/controller-runtime/pkg", otherRegistry)
}

func checkForms(t *testing.T, c git.Clone, prefix string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Root, ".github", "ISSUE_TEMPLATE", "config.yml"))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`(?m)^    url: (.*)$`).FindAllStringSubmatch(string(text), -1)
	for _, link := range links {
		page, ours := strings.CutPrefix(link[1], prefix)
		if _, err := os.Stat(filepath.Join(c.Root, page)); err != nil || !ours {
			t.Errorf("a link to %s: %v", link[1], err)
		}
	}
	if len(links) != 3 {
		t.Errorf("the links are %v", links)
	}
}

func checkBuilds(t *testing.T, c git.Clone) {
	t.Helper()
	folders := strings.Fields(golang(t, c.Root, []string{"GOWORK=" + filepath.Join(c.Root, "go.work")}, "list", "-m", "-f", "{{.Dir}}"))
	for _, tool := range []string{"charts", "compiled", "crds", "project", "release"} {
		folders = append(folders, filepath.Join(c.Root, "tools", tool))
	}
	for _, folder := range folders {
		golang(t, folder, nil, "build", "-o="+os.DevNull, "./...")
	}
	generateCharts(t, c)
}

func generateCharts(t *testing.T, c git.Clone) {
	t.Helper()
	charts := filepath.Join(c.Root, "bin", "charts")
	golang(t, filepath.Join(c.Root, "tools", "charts"), nil, "build", "-o="+charts, ".")
	cmd := exec.CommandContext(t.Context(), charts)
	cmd.Dir = c.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("charts: %v\n%s", err, out)
	}
}
