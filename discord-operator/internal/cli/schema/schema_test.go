// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// `make generate` keeps the embedded CustomResourceDefinitions equal to deploy/.
func TestDefinitionsAreInstalled(t *testing.T) {
	installed, err := filepath.Glob("../../../../deploy/discord-operator/crds/discord.*.yaml")
	if err != nil || len(installed) != 4 {
		t.Fatalf("%d definitions, %v", len(installed), err)
	}
	for _, path := range installed {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := definitions.ReadFile("crds/" + filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not as in crds/, run `make generate`:\n%s", path, diff)
		}
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

const head = "apiVersion: discord.jutsu.com/v1alpha1\nkind: "

func TestAdmit(t *testing.T) {
	t.Parallel()
	kinds, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	group := head + "DiscordGroup\nmetadata: {name: a}\nspec: {name: A, serverRef: {name: jujutsu}"
	for name, c := range map[string]struct{ text, before, refused string }{
		"a valid object":                   {text: group + "}"},
		"an invalid name":                  {text: strings.Replace(group, "{name: a}", "{name: A_}", 1) + "}", refused: "metadata.name"},
		"an unknown field":                 {text: group + ", title: x}", refused: "spec.title"},
		"a missing field":                  {text: head + "DiscordGroup\nmetadata: {name: a}\nspec: {name: A}", refused: "spec.serverRef: Required"},
		"a wrong enum value":               {text: group + ", deletionPolicy: Keep}", refused: `"Delete", "Retain"`},
		"a violated CEL rule":              {text: group + ", adopt: {id: x}}", refused: "must be a Discord id"},
		"a violated CEL rule of an update": {text: group + "}", before: strings.Replace(group, "jujutsu", "other", 1) + "}", refused: "serverRef cannot be changed"},
		"a repeated element of a set": {text: head + "DiscordRole\nmetadata: {name: a}\nspec: {name: A, serverRef: {name: j}, permissions: [Speak, Speak]}",
			refused: "Duplicate value"},
		"an unknown kind": {text: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}", refused: "no kind Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, before := object(t, c.text), (*unstructured.Unstructured)(nil)
			if c.before != "" {
				before = object(t, c.before)
			}
			err := kinds.Admit(t.Context(), o, before)
			switch {
			case c.refused == "" && err != nil, c.refused != "" && err == nil,
				c.refused != "" && !strings.Contains(err.Error(), c.refused):
				t.Errorf("got %v, want %q", err, c.refused)
			}
			policy, _, _ := unstructured.NestedString(o.Object, "spec", "managementPolicy")
			if c.refused == "" && policy != "Manage" {
				t.Errorf("the default of managementPolicy is %q", policy)
			}
		})
	}
}
