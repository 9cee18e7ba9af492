// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

const docsURL = "https://docs.example.org/you/operators/docs"

var (
	address = regexp.MustCompile(`https?://[^\s"'<>()\\]+`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// With an address of the docs, each alert links to its own section. Without it, there are no links.
func TestLinks(t *testing.T) {
	for _, o := range environment.All {
		t.Run(o.Name+" without an address", func(t *testing.T) {
			g := NewWithT(t)
			for _, object := range withoutKinds(renderWith(t, o, "prometheus", "grafana")) {
				text := asText(t, object)
				g.Expect(text).NotTo(Or(ContainSubstring("runbook_url"), ContainSubstring("dashboard_url"),
					ContainSubstring("docs-url"), MatchRegexp(`https?://[^"]*\.md`)), object.GetName())
			}
		})
		t.Run(o.Name+" with an address", func(t *testing.T) {
			g := NewWithT(t)
			objects, links := withoutKinds(renderWithDocs(t, o)), 0
			for _, object := range objects {
				g.Expect(object.GetName()).NotTo(Equal("docs-url"), "the manifests should not have the setting")
				for _, link := range address.FindAllString(asText(t, object), -1) {
					if path, ours := strings.CutPrefix(link, docsURL+"/"); ours {
						follow(t, path)
						links++
					} else if link != docsURL { // docsURL alone is the value of the flag
						g.Expect(link).NotTo(Or(ContainSubstring(".md"), ContainSubstring("docs.example")), object.GetName())
					}
				}
			}
			_, groups := groupsOf(t, o)
			alerts := 0
			for i, group := range rulesOf(t, objects) {
				for j, rule := range group.Rules {
					if rule.Alert == "" {
						continue
					}
					alerts++
					g.Expect(rule.Alert).To(Equal(groups[i].Rules[j].Alert))
					g.Expect(rule.Annotations).To(HaveKeyWithValue("runbook_url", docsURL+"/alerts.md#"+strings.ToLower(rule.Alert)))
				}
			}
			g.Expect(links).To(Equal(alerts), "one link for each alert")
			g.Expect(docsFlag(t, objects)).To(Equal(o.Name == environment.Dojo.Name), "the flag for alerts of Dojos")
		})
	}
}

// withoutKinds omits CustomResourceDefinitions, because their descriptions link to pages of
// Kubernetes.
func withoutKinds(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return manifests.Without(objects, "CustomResourceDefinition")
}

func follow(t *testing.T, path string) {
	t.Helper()
	page, section, _ := strings.Cut(path, "#")
	for _, h := range heading.FindAllStringSubmatch(read(t, "docs/"+page), -1) {
		if strings.ReplaceAll(strings.ToLower(h[1]), " ", "-") == section {
			return
		}
	}
	t.Errorf("docs/%s has no section %q", page, section)
}

func renderWithDocs(t *testing.T, o environment.Operator) []*unstructured.Unstructured {
	t.Helper()
	from, err := project.Path(o.Folder())
	must(t, err)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	up, err := filepath.Rel(folder, from) // kustomize accepts no absolute path
	must(t, err)
	text := fmt.Sprintf(`
resources: [%[1]s/base, docs-url.yaml]
components: [%[1]s/components/prometheus, %[1]s/components/grafana, %[1]s/components/docs-url]
`, up)
	must(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600))
	write(t, filepath.Join(folder, "docs-url.yaml"), map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"url": docsURL},
		"metadata": map[string]any{
			"name": "docs-url", "annotations": map[string]any{"config.kubernetes.io/local-config": "true"},
		},
	})
	objects, err := manifests.Render(folder)
	must(t, err)
	return objects
}

func rulesOf(t *testing.T, objects []*unstructured.Unstructured) (groups []ruleSpec) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == prometheusRule.Kind {
			raw, _, err := unstructured.NestedSlice(object.Object, "spec", "groups")
			must(t, err)
			decode(t, map[string]any{"groups": raw}, &struct{ Groups *[]ruleSpec }{&groups})
		}
	}
	return groups
}

func docsFlag(t *testing.T, objects []*unstructured.Unstructured) bool {
	t.Helper()
	for _, object := range objects {
		if text := asText(t, object); object.GetKind() == "Deployment" {
			return strings.Contains(text, `"--docs-url=$(DOCS_URL)"`) &&
				strings.Contains(text, fmt.Sprintf(`{"name":"DOCS_URL","value":%q}`, docsURL))
		}
	}
	return false
}

func asText(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(object.Object)
	must(t, err)
	return string(text)
}
