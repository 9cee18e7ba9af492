// SPDX-License-Identifier: Apache-2.0

package location

import (
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	for name, test := range map[string]struct {
		repo, registry string
		want           Location
		err            string
	}{
		"GitHub":                   {repo: "github.com/Acme/ops", want: Location{"github.com/Acme/ops", "ghcr.io/acme/ops"}},
		"GitLab":                   {repo: "gitlab.com/acme/x/ops", want: Location{"gitlab.com/acme/x/ops", "registry.gitlab.com/acme/x/ops"}},
		"a registry":               {repo: "github.com/acme/ops", registry: "quay.io/acme", want: Location{"github.com/acme/ops", "quay.io/acme"}},
		"without an address":       {repo: "example.com/operators", want: Location{"example.com/operators", nowhere}},
		"an unknown host":          {repo: "git.example.com/acme/ops", err: "set REGISTRY"},
		"a URL":                    {repo: "https://github.com/acme/ops", err: "is no repository"},
		"a path with a line break": {repo: "github.com/acme/ops\nregistry: x", err: "is no repository"},
		"a registry as a URL":      {repo: "github.com/acme/ops", registry: "https://quay.io/x", err: "is no repository of images"},
		"a registry in capitals":   {repo: "github.com/acme/ops", registry: "quay.io/Acme", err: "is no repository of images"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := New(test.repo, test.registry)
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, want %q", err, test.err)
				}
			case err != nil || got != test.want:
				t.Errorf("it is %+v (%v), want %+v", got, err, test.want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	github, gitea := Location{Repo: "github.com/a/b"}, Location{Repo: "codeberg.org/a/b"}
	gitlab, none := Location{Repo: "gitlab.com/a/b"}, Location{Repo: "example.com/operators"}
	for got, want := range map[string]string{
		github.Files() + "docs/x.md":                 "https://github.com/a/b/blob/main/docs/x.md",
		gitlab.Files() + "docs/x.md":                 "https://gitlab.com/a/b/-/blob/main/docs/x.md",
		gitea.Files() + "docs/x.md":                  "https://codeberg.org/a/b/src/branch/main/docs/x.md",
		github.Docs("dojo-operator/v1.0.0"):          "https://github.com/a/b/blob/dojo-operator/v1.0.0/docs",
		gitlab.Docs("dojo-operator/v1.0.0"):          "https://gitlab.com/a/b/-/blob/dojo-operator/v1.0.0/docs",
		gitea.Docs("dojo-operator/v1.0.0"):           "https://codeberg.org/a/b/src/tag/dojo-operator/v1.0.0/docs",
		github.Download("dojo-operator/v1.0.0", "f"): "https://github.com/a/b/releases/download/dojo-operator%2Fv1.0.0/f",
		gitlab.Download("dojo-operator/v1.0.0", "f"): "https://gitlab.com/a/b/-/releases/dojo-operator%2Fv1.0.0/downloads/f",
		none.Download("dojo-operator/v1.0.0", "f") + none.URL() + none.Issues() + none.Docs("v1"): "",
		github.Module("apis"): "github.com/a/b/apis",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"repo: github.com/a/b\n":                         "lacks repo or registry",
		"repo: github.com/a/b\nregistry: r.io/a\nx: y\n": "unknown key",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
	}
	if l, err := Read("../../.."); err != nil || l.Repo == "" {
		t.Errorf("the project's own: %+v, %v", l, err)
	}
}
