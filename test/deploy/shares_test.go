// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"jutsu.com/operators/test/testcluster/manifests"
)

func TestTenantsSharesNameEveryKind(t *testing.T) {
	t.Parallel()
	page, quota := text(t, "docs/platform/multi-tenancy.md"), text(t, "deploy/samples/install/namespaces/team/quota.yaml")
	section := func(heading string) string {
		_, after, found := strings.Cut(page, "\n## "+heading)
		if !found {
			t.Fatalf("docs/platform/multi-tenancy.md has no section %q", heading)
		}
		text, _, _ := strings.Cut(after, "\n## ")
		return text
	}
	trust, share := section("Who is trusted"), section("How is a tenant's share bounded?")
	files, err := filepath.Glob("../../deploy/*-operator/crds/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	kinds := 0
	for _, file := range files {
		crds, err := manifests.Parse([]byte(text(t, strings.TrimPrefix(filepath.ToSlash(file), "../../"))))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, crd := range crds {
			if crd.GetKind() != "CustomResourceDefinition" {
				continue
			}
			group, plural, kind := specText(crd, "group"), specText(crd, "names", "plural"), specText(crd, "names", "kind")
			kinds++
			for where, text := range map[string]string{"the quota of the samples": quota, "the quota of the page": share} {
				if !strings.Contains(text, "count/"+plural+"."+group+":") {
					t.Errorf("%s does not count %s.%s", where, plural, group)
				}
			}
			if !strings.Contains(trust, kind) {
				t.Errorf("docs/platform/multi-tenancy.md does not say what a tenant may try with a %s", kind)
			}
		}
	}
	NewWithT(t).Expect(kinds).To(BeNumerically(">=", 5), "Dojo and the four kinds of Discord")
}

func specText(o *unstructured.Unstructured, path ...string) string {
	found, _, _ := unstructured.NestedString(o.Object, append([]string{"spec"}, path...)...)
	return found
}
