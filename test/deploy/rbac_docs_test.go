// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/project"
	"jutsu.com/operators/test/testcluster/rbacusage"
)

var (
	roleHeading = regexp.MustCompile("^### (ClusterRole|Role) `(.+)`$")
	roleRow     = regexp.MustCompile("^\\| `([^`]+)`(?: `([^`]+)`)? \\| ([a-z, ]+) \\| (.+) \\|$")
)

func TestDocumentedPermissions(t *testing.T) {
	g := NewWithT(t)
	path, err := project.Path("docs", "platform", "rbac.md")
	g.Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	documented := map[string][]string{}
	role := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if found := roleHeading.FindStringSubmatch(line); found != nil {
			role = found[1] + " " + found[2]
		} else if strings.HasPrefix(line, "## ") {
			role = ""
		} else if found := roleRow.FindStringSubmatch(line); found != nil && role != "" {
			for verb := range strings.SplitSeq(found[3], ", ") {
				documented[role] = append(documented[role], strings.TrimSpace(verb+" "+found[1]+" "+found[2]))
			}
		}
	}
	deployed := map[string][]string{}
	for _, o := range environment.All {
		objects := render(t, o.Base())
		for _, name := range []string{o.Name, o.Name + "-process"} {
			for _, kind := range []string{"ClusterRole", "Role"} {
				var r rbacv1.Role // a ClusterRole has the same rules
				if pick(objects, kind, name, &r) == nil {
					deployed[kind+" "+name] = permissions(r.Rules)
				}
			}
		}
	}
	for _, lists := range []map[string][]string{documented, deployed} {
		for name := range maps.Keys(lists) {
			slices.Sort(lists[name])
		}
	}
	if diff := cmp.Diff(documented, deployed); diff != "" {
		t.Errorf("docs/platform/rbac.md (-) and the roles (+):\n%s", diff)
	}
}

// permissions formats rules as the page does: "verb resource.group/subresource name".
func permissions(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, strings.TrimSpace(
							rbacusage.Permission{Group: group, Resource: resource, Verb: verb}.String()+" "+name))
					}
				}
			}
		}
	}
	return all
}
