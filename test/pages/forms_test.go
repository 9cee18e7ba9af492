// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/testcluster/project"
)

// GitHub ignores an invalid form without a message:
// https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema
type form struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Title       string    `json:"title"`
	Labels      []string  `json:"labels"`
	Body        []element `json:"body"`
}

type element struct {
	Type       string `json:"type"`
	ID         string `json:"id"`
	Attributes struct {
		Label       string `json:"label"`
		Description string `json:"description"`
		Placeholder string `json:"placeholder"`
		Render      string `json:"render"`
		Value       string `json:"value"`
		Options     []any  `json:"options"`
	} `json:"attributes"`
	Validations struct {
		Required bool `json:"required"`
	} `json:"validations"`
}

func TestFormsOfIssues(t *testing.T) {
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	forms, err := filepath.Glob(filepath.Join(root, ".github", "ISSUE_TEMPLATE", "*.yaml"))
	if err != nil || len(forms) < 3 {
		t.Fatalf("only %v found: %v", forms, err)
	}
	for _, file := range forms {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var f form
			if err := yaml.UnmarshalStrict(content, &f); err != nil {
				t.Fatal(err)
			}
			if f.Name == "" || f.Description == "" || len(f.Labels) == 0 {
				t.Error("name, description or labels are missing")
			}
			ids, labels := map[string]bool{}, map[string]bool{}
			for _, e := range f.Body {
				if e.Type == "markdown" {
					if e.Attributes.Value == "" || e.ID != "" {
						t.Errorf("markdown needs a value, and takes no id: %+v", e)
					}
					continue
				}
				a := e.Attributes
				if ids[e.ID] || labels[a.Label] || e.ID == "" || a.Label == "" {
					t.Errorf("an element needs a unique id and a unique label: %+v", e)
				}
				ids[e.ID], labels[a.Label] = true, true
				chosen := slices.Contains([]string{"dropdown", "checkboxes"}, e.Type)
				if !chosen && !slices.Contains([]string{"input", "textarea"}, e.Type) || chosen != (len(a.Options) > 0) {
					t.Errorf("%s: type and options do not fit: %+v", e.ID, e)
				}
			}
			if len(ids) == 0 {
				t.Error("the form asks for nothing")
			}
		})
	}
}

// GitHub shows a form at REPOSITORY/issues/new, so links in it are relative to this address.
func TestLinksOfTheForms(t *testing.T) {
	var config struct {
		Blank bool `json:"blank_issues_enabled"`
		Links []struct {
			Name  string `json:"name"`
			URL   string `json:"url"`
			About string `json:"about"`
		} `json:"contact_links"`
	}
	if err := yaml.UnmarshalStrict([]byte(text(t, ".github/ISSUE_TEMPLATE/config.yml")), &config); err != nil {
		t.Fatal(err)
	}
	if config.Blank {
		t.Error("there are blank forms")
	}
	address := regexp.MustCompile(`(?m)^repo: (\S+/\S+/\S+)$`).FindStringSubmatch(text(t, "project.yaml"))
	for _, l := range config.Links {
		if len(address) < 2 || !strings.HasPrefix(l.URL, "https://"+address[1]+"/") {
			t.Errorf("a link to another site: %+v", l)
		}
	}
	for _, operator := range []string{"dojo-operator", "discord-operator"} {
		linked := map[string]bool{}
		form := text(t, ".github/ISSUE_TEMPLATE/bug-"+operator+".yaml")
		for _, l := range link.FindAllStringSubmatch(form, -1) {
			page, ours := strings.CutPrefix(l[1], "../blob/HEAD/")
			if !ours {
				t.Errorf("%s: a link to another site: %s", operator, l[0])
			}
			text(t, page)
			linked[page] = true
		}
		if !linked["SECURITY.md"] || !linked["docs/reasons.md"] || !linked["docs/alerts.md"] {
			t.Errorf("the form of %s links to %v only", operator, linked)
		}
	}
}

// Files must not link to jutsu.com, because the domain serves nothing.
func TestNoAddress(t *testing.T) {
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, folder := range []string{"deploy", ".github", "tools/charts"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files++
			content, err := os.ReadFile(path)
			if strings.Contains(string(content), "://jutsu.com") {
				t.Errorf("%s has an address that serves nothing", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d files found", files)
	}
}

func TestOwners(t *testing.T) {
	line := regexp.MustCompile(`^(\*|/\S+/)( +@[\w-]+/[\w-]+)+\n$`)
	for owners := range strings.Lines(text(t, ".github/CODEOWNERS")) {
		if owners == "\n" || strings.HasPrefix(owners, "#") {
			continue
		}
		found := line.FindStringSubmatch(owners)
		if found == nil {
			t.Errorf("no pattern with teams: %q", owners)
			continue
		}
		path, err := project.Path(found[1])
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); found[1] != "*" && (err != nil || !info.IsDir()) {
			t.Errorf("%s is no folder", found[1])
		}
	}
}
