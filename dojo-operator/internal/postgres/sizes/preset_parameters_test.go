// SPDX-License-Identifier: Apache-2.0

package sizes

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestSchemaHasTheSameLimitsOfParameters(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../deploy/dojo-operator/crds/core.jutsu.com_dojos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil || len(versions) == 0 {
		t.Fatal("the CRD has no version", err)
	}
	for _, version := range versions {
		got, _, err := unstructured.NestedMap(version.(map[string]any), "schema", "openAPIV3Schema", "properties", "spec",
			"properties", "postgres", "properties", "cluster", "properties", "parameters")
		if err != nil || got == nil {
			t.Fatal("the CRD has no parameters", err)
		}
		length, _, _ := unstructured.NestedFieldNoCopy(got, "additionalProperties", "maxLength")
		rules, _, _ := unstructured.NestedSlice(got, "x-kubernetes-validations")
		if len(rules) != 1 {
			t.Fatalf("parameters have the rules %v, want one", rules)
		}
		want := []any{
			float64(maxParameters), float64(maxParameterValue),
			fmt.Sprintf("self.all(name, size(name) <= %d && name.matches('%s'))", maxParameterName, parameterPattern),
		}
		if diff := cmp.Diff(want, []any{got["maxProperties"], length, rules[0].(map[string]any)["rule"]}); diff != "" {
			t.Error("change preset_parameters.go and apis/core/v1/postgres_types.go together", diff)
		}
	}
}
