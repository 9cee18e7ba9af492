// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

const anImage = "ghcr.io/example/x:v0.1.0@sha256:0123456789012345678901234567890123456789012345678901234567890123"

// TestBundle validates the OLM bundles as OperatorHub does, and compares them with the manifests.
func TestBundle(t *testing.T) {
	root := checkout(t).root
	for _, operator := range operators {
		t.Run(operator, func(t *testing.T) {
			image := strings.Replace(anImage, "/x:", "/"+operator+":", 1)
			o := imageOptions{Root: root, Operator: operator, Version: "v0.1.0", Created: time.Unix(1767225600, 0)}
			if second := companions[operator].Program; second != "" {
				o.Companion = strings.Replace(anImage, "/x:", "/"+second+":", 1)
			}
			text, err := manifest(o, image)
			if err != nil {
				t.Fatal(err)
			}
			files, err := bundleFiles(root, o, text, image, "https://github.com/example/operators")
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			for name, content := range files {
				file := filepath.Join(folder, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			found, err := manifests.GetBundleFromDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			validateBundle(t, found)
			checkBundle(t, operator, image, string(text), found)
		})
	}
}

// Two warnings are expected: the bundle has no icon, and RBAC rules name no API version.
func validateBundle(t *testing.T, found *manifests.Bundle) {
	t.Helper()
	validators := interfaces.Validators{
		validation.BundleValidator, validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator,
		validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
		validation.ObjectValidator, validation.GoodPracticesValidator,
	}
	var objects []any
	for _, object := range found.Objects {
		objects = append(objects, object)
	}
	objects = append(objects, found, found.CSV)
	for _, crd := range found.V1CRDs {
		objects = append(objects, crd)
	}
	results := validators.Validate(objects...)
	if len(results) < 4 {
		t.Errorf("only %d results", len(results))
	}
	for _, result := range results {
		for _, err := range result.Errors {
			t.Errorf("%s: %v", result.Name, err)
		}
		for _, warning := range result.Warnings {
			if text := warning.Error(); !strings.Contains(text, "csv.Spec.Icon not specified") &&
				!strings.Contains(text, "StrategySpec.ClusterPermissions[") {
				t.Errorf("%s: %v", result.Name, warning)
			}
		}
	}
}

func checkBundle(t *testing.T, operator, image, text string, found *manifests.Bundle) {
	t.Helper()
	strategy := found.CSV.Spec.InstallStrategy.StrategySpec
	pod := strategy.DeploymentSpecs[0].Spec.Template.Spec
	_, digest, _ := strings.Cut(image, "@")
	if got := pod.Containers[0].Image; !strings.HasSuffix(got, "@"+digest) || pod.ServiceAccountName != operator {
		t.Errorf("it runs %s as %s", got, pod.ServiceAccountName)
	}
	if want := strings.Count(text, "\nkind: CustomResourceDefinition\n"); len(found.V1CRDs) != want ||
		len(found.CSV.Spec.CustomResourceDefinitions.Owned) != want {
		t.Errorf("%d kinds, want %d", len(found.V1CRDs), want)
	}
	for _, permissions := range [][]v1alpha1.StrategyDeploymentPermissions{strategy.ClusterPermissions, strategy.Permissions} {
		for _, p := range permissions {
			for _, rule := range p.Rules {
				if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") {
					t.Errorf("a rule for everything: %v", rule)
				}
			}
		}
	}
	var examples []struct{ Kind string }
	if err := json.Unmarshal([]byte(found.CSV.Annotations["alm-examples"]), &examples); err != nil || len(examples) == 0 {
		t.Errorf("examples: %v, %v", examples, err)
	}
	for _, kind := range []string{"Namespace", "ServiceAccount", "ValidatingAdmissionPolicy", "Deployment"} {
		for _, object := range found.Objects {
			if object.GetKind() == kind {
				t.Errorf("the bundle has a %s, which OLM makes or refuses", kind)
			}
		}
	}
}
