// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kustomization = `
resources: [objects.yaml]
namespace: ns
configMapGenerator:
  - {name: settings, literals: ["list=a,b"]}
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: one}
spec:
  template:
    spec:
      containers:
        - name: main
          args: [--plain, --list=$(LIST), "--all=$(OTHER) and $(LIST)", --odd=$(NOWHERE)]
          env:
            - {name: LIST, valueFrom: {configMapKeyRef: {name: settings, key: list}}}
            - {name: OTHER, value: x}
---
apiVersion: v1
kind: Namespace
metadata: {name: ns}
`

func write(t *testing.T, objects string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"kustomization.yaml": kustomization, "objects.yaml": objects} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestCommandOf(t *testing.T) {
	objects, err := Render(write(t, deployment))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range Without(objects, "ConfigMap") {
		kinds = append(kinds, o.GetKind())
	}
	if diff := cmp.Diff([]string{"Namespace", "Deployment"}, kinds); diff != "" {
		t.Error(diff)
	}
	got, err := CommandOf(objects, "one")
	if err != nil {
		t.Fatal(err)
	}
	want := &Command{
		Args: []string{"--plain", "--list=a,b", "--all=x and a,b", "--odd=$(NOWHERE)"},
		Env:  []string{"LIST=a,b", "OTHER=x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommandOfRefusesIncompleteManifests(t *testing.T) {
	for want, text := range map[string]string{
		"there is no Deployment one":                strings.Replace(deployment, "name: one", "name: two", 1),
		"container main: nothing says what LIST is": strings.Replace(deployment, "key: list", "key: other", 1),
		"container main: nothing says what LIST is either": strings.Replace(deployment, "configMapKeyRef", "secretKeyRef",
			1),
	} {
		objects, err := Render(write(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := CommandOf(objects, "one"); err == nil || err.Error() != strings.TrimSuffix(want, " either") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Render(t.TempDir()); err == nil {
		t.Error("a folder without a kustomization was rendered")
	}
}
