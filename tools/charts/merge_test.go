// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestMerge(t *testing.T) {
	for name, test := range map[string]struct {
		before string
		after  []string // documents: with the value a, with the values a and b, ...
		want   string
	}{
		"an added key": {"x: 1 # one", []string{"x: 1\ny: 2"}, `
x: 1 # one
{{- if .Values.a }}
y: 2
{{- end }}`},
		"the first key is removed": {"x: 1\ny: 2", []string{"y: 2"}, `
y: 2
{{- if not .Values.a }}
x: 1
{{- end }}`},
		"a changed value": {"z: 0\nx: 1", []string{"z: 0\nx: 2"}, `
z: 0
{{- if .Values.a }}
x: 2
{{- else }}
x: 1
{{- end }}`},
		"keys in another order": {"x: 1\ny: 2", []string{"y: 2\nx: 1"}, "\nx: 1\ny: 2"},
		"added items": {"l: [1, 2]", []string{"l: [0, 1, 2]", "l: [0, 1, 2, 3]"}, `
l:
{{- if .Values.a }}
- 0
{{- end }}
- 1
- 2
{{- if .Values.b }}
- 3
{{- end }}`},
		"a named item changed": {
			"l: [{name: n, x: 1}, {name: m}]", []string{"l: [{name: k}, {name: n, x: 1, y: 2}, {name: m}]"}, `
l:
{{- if .Values.a }}
- {name: k}
{{- end }}
- name: n
  x: 1
  {{- if .Values.a }}
  y: 2
  {{- end }}
- {name: m}`},
		"a removed verb": {
			"rules: [{resources: [secrets], verbs: [delete, get]}]", []string{"rules: [{resources: [secrets], verbs: [get]}]"}, `
rules:
- resources: [secrets]
  verbs:
  {{- if not .Values.a }}
  - delete
  {{- end }}
  - get`},
		"one value adds a key, and another removes it": {"x: 1", []string{"x: 1\ny: 2", "x: 1"}, `
x: 1
{{- if and .Values.a (not .Values.b) }}
y: 2
{{- end }}`},
		"a template of another program": {`x: "{{ $labels.pod }} waits"`, []string{`x: "{{ $labels.pod }} waits"`}, "\n" +
			"x: \"{{`{{ $labels.pod }}`}} waits\""},
	} {
		t.Run(name, func(t *testing.T) {
			merged := newTree(yaml.MustParse(test.before).YNode())
			for i, after := range test.after {
				merged.merge(string(rune('a'+i)), newTree(yaml.MustParse(after).YNode()))
			}
			o := object{entry: entry{value: merged}}
			got, err := o.text(operators[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n")+"\n", got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewComponent(t *testing.T) {
	folder := t.TempDir()
	for _, component := range []string{"prometheus", "new"} {
		if err := os.MkdirAll(filepath.Join(folder, "components", component), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const want = "no value switches components/new on"
	if _, err := switchesOf(folder); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}
