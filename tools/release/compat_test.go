// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	dojos    = "dojos.core.jutsu.com"
	channels = "discordchannels.discord.jutsu.com"
)

func definitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, operator := range operators {
		found, err := crdsOf(os.DirFS(filepath.Join(checkout(t).root, "deploy", operator, "crds")))
		if err != nil {
			t.Fatal(err)
		}
		for name, crd := range found {
			all[name] = crd
		}
	}
	return all
}

func spec(crd *apiextensionsv1.CustomResourceDefinition, fields ...string) apiextensionsv1.JSONSchemaProps {
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	for _, field := range fields {
		schema = schema.Properties[field]
	}
	return schema
}

func setField(crd *apiextensionsv1.CustomResourceDefinition, field string, schema apiextensionsv1.JSONSchemaProps) {
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties[field] = schema
}

func setSpec(crd *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.JSONSchemaProps)) {
	schema := spec(crd)
	change(&schema)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = schema
}

func TestCompare(t *testing.T) {
	type definition = *apiextensionsv1.CustomResourceDefinition
	for name, test := range map[string]struct {
		kind   string // the kind with a changed definition
		change func(definition)
		want   string // part of a finding; empty if there must be none
		warns  bool   // whether the finding is only a warning, because the change breaks no user
	}{
		"no change": {kind: dojos, change: func(definition) {}},
		"a new optional field": {kind: dojos, change: func(d definition) {
			setField(d, "motto", apiextensionsv1.JSONSchemaProps{Type: "string"})
		}},
		"a new optional object with a required field": {kind: dojos, change: func(d definition) {
			setField(d, "motto", apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"text"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"text": {Type: "string"}}})
		}},
		"another description": {kind: dojos, change: func(d definition) {
			field := spec(d, "title")
			field.Description = "better"
			setField(d, "title", field)
		}},
		"an additional version": {kind: channels, change: func(d definition) {
			next := d.Spec.Versions[0].DeepCopy()
			next.Name, next.Storage = "v1beta1", false
			d.Spec.Versions = append(d.Spec.Versions, *next)
		}},
		"an additional enum value": {kind: dojos, change: func(d definition) {
			field := spec(d, "database")
			field.Enum = append(field.Enum, apiextensionsv1.JSON{Raw: []byte(`"Cassandra"`)})
			setField(d, "database", field)
		}},
		"a removed field": {kind: dojos, change: func(d definition) {
			delete(d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "image")
		}, want: "spec.image"},
		"a new required field": {kind: dojos, change: func(d definition) {
			setField(d, "motto", apiextensionsv1.JSONSchemaProps{Type: "string"})
			setSpec(d, func(s *apiextensionsv1.JSONSchemaProps) { s.Required = append(s.Required, "motto") })
		}, want: "new required fields: [motto]"},
		"a removed enum value": {kind: dojos, change: func(d definition) {
			field := spec(d, "database")
			field.Enum = field.Enum[:1]
			setField(d, "database", field)
		}, want: "spec.database"},
		"a smaller maximum": {kind: channels, change: func(d definition) {
			field, most := spec(d, "topic"), int64(10)
			field.MaxLength = &most
			setField(d, "topic", field)
		}, want: "spec.topic"},
		"a larger minimum": {kind: dojos, change: func(d definition) {
			field, least := spec(d, "replicas"), 1.0
			field.Minimum = &least
			setField(d, "replicas", field)
		}, want: "spec.replicas"},
		"another pattern": {kind: channels, change: func(d definition) {
			field := spec(d, "name")
			field.Pattern = "^[a-z]+$"
			setField(d, "name", field)
		}, want: "spec.name"},
		"another type": {kind: dojos, change: func(d definition) {
			field := spec(d, "replicas")
			field.Type = "string"
			setField(d, "replicas", field)
		}, want: "type"},
		"another default": {kind: dojos, change: func(d definition) {
			field := spec(d, "replicas")
			field.Default = &apiextensionsv1.JSON{Raw: []byte("2")}
			setField(d, "replicas", field)
		}, want: "spec.replicas"},
		"another scope":               {kind: dojos, change: func(d definition) { d.Spec.Scope = apiextensionsv1.ClusterScoped }, want: "scope"},
		"another kind":                {kind: dojos, change: func(d definition) { d.Spec.Names.Kind = "Gym" }, want: "it was called Dojo (dojos) and is called Gym"},
		"an unserved version":         {kind: dojos, change: func(d definition) { d.Spec.Versions[0].Served = false }, want: "no longer served"},
		"a renamed version":           {kind: channels, change: func(d definition) { d.Spec.Versions[0].Name = "v1" }, want: "no longer served"},
		"a removed scale subresource": {kind: dojos, change: func(d definition) { d.Spec.Versions[0].Subresources.Scale = nil }, want: "a subresource (status, scale) is gone"},
		"a removed short name": {kind: dojos, change: func(d definition) { d.Spec.Names.ShortNames = nil },
			want: "the short name dj is gone", warns: true},
		"an additional rule": {kind: dojos, change: func(d definition) {
			setSpec(d, func(s *apiextensionsv1.JSONSchemaProps) {
				s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "size(self.title) > 3"})
			})
		}, want: "size(self.title) > 3", warns: true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := definitions(t), definitions(t)
			test.change(after[test.kind])
			found, err := compare(before, after)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			breaks := false
			for _, f := range found {
				texts = append(texts, f.String())
				breaks = breaks || f.Breaking
			}
			said := strings.Join(texts, "\n")
			switch {
			case test.want == "" && said != "":
				t.Errorf("an allowed change is reported:\n%s", said)
			case !strings.Contains(said, test.want):
				t.Errorf("want %q in the report:\n%s", test.want, said)
			case test.want != "" && breaks == test.warns:
				t.Errorf("a breaking change is reported: %t\n%s", breaks, said)
			}
			for _, f := range found {
				if !strings.HasPrefix(f.Where, test.kind) {
					t.Errorf("another kind is reported: %s", f)
				}
			}
		})
	}
}

func TestCompareKinds(t *testing.T) {
	before, after := definitions(t), definitions(t)
	if len(before) != 5 {
		t.Fatalf("there are %d definitions, want 5", len(before))
	}
	delete(after, channels)
	found, err := compare(before, after)
	if err != nil || len(found) != 1 || !found[0].Breaking || found[0].Where != channels {
		t.Errorf("a kind less: %v, %v", found, err)
	}
	if found, err = compare(after, before); err != nil || len(found) != 0 {
		t.Errorf("a kind more: %v, %v", found, err)
	}
}

func TestUnreadableDefinition(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte("spec: {nonsense: 1}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := crdsOf(os.DirFS(folder)); err == nil || !strings.Contains(err.Error(), "a.yaml") {
		t.Errorf("the error is %v", err)
	}
	if found, err := crdsOf(os.DirFS(t.TempDir())); err != nil || len(found) != 0 {
		t.Errorf("an empty folder: %v, %v", found, err)
	}
}
