// SPDX-License-Identifier: Apache-2.0

// Package pages checks hand-written text: pages, comments, titles, commit subjects and issue forms.
package pages

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"jutsu.com/operators/test/testcluster/project"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	console = regexp.MustCompile("(?s)```console\n.*?```")
	// fields matches the tables that `make generate` writes into docs/reference.
	fields = regexp.MustCompile("(?s)<!-- fields -->.*?<!-- end of fields -->")
)

func written(t *testing.T) (names []string) {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "libs/*/*.md", "*-operator/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	if len(names) < 50 {
		t.Fatalf("only %v found", names)
	}
	return names
}

func TestPagesAreShort(t *testing.T) {
	if lines := strings.Count(text(t, "README.md"), "\n"); lines > 120 {
		t.Errorf("README.md has %d lines", lines)
	}
	for _, page := range written(t) {
		for line := range strings.Lines(fields.ReplaceAllString(console.ReplaceAllString(text(t, page), ""), "")) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 120 {
				t.Errorf("%s has a line of more than 120 columns: %s", page, line)
			}
		}
	}
}

// All links within the repository work, and the index lists every page.
func TestLinksOfThePages(t *testing.T) {
	linked := map[string]bool{}
	for _, page := range written(t) {
		for _, l := range link.FindAllStringSubmatch(text(t, page), -1) {
			target, anchor := page, l[2]
			if strings.Contains(l[1], "://") {
				continue
			}
			if l[1] != "" {
				target = path.Join(path.Dir(page), l[1])
			}
			if page == "docs/README.md" {
				linked[target] = true
			}
			if content := text(t, target); anchor != "" && !anchors(content)[anchor] {
				t.Errorf("%s links to %s#%s, which is no heading there", page, target, anchor)
			}
		}
	}
	for _, page := range written(t) {
		if page != "docs/README.md" && !linked[page] {
			t.Errorf("docs/README.md does not list %s", page)
		}
	}
}

func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		all[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	return all
}

func text(t *testing.T, file string) string {
	t.Helper()
	path, err := project.Path(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
