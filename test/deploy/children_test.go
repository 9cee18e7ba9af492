// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"jutsu.com/operators/test/environment"
)

// docs/platform/leaving.md names all kinds that an application needs and that are deleted with the
// Dojo.
func TestChildrenToSave(t *testing.T) {
	g := NewWithT(t)
	page := text(t, "docs/platform/leaving.md")
	kept := []string{"backups", "clusters", "databases", "databaseroles", "scheduledbackups"}
	useless := []string{"alertmanagerconfigs", "discordchannels", "events", "jobs"} // without the operator
	var role rbacv1.ClusterRole
	g.Expect(pick(render(t, environment.Dojo.Base()), "ClusterRole", environment.Dojo.Name, &role)).To(Succeed())
	named := 0
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			if !slices.Contains(rule.Verbs, "create") || slices.Contains(slices.Concat(kept, useless), resource) {
				continue
			}
			kind := strings.TrimSuffix(strings.TrimSuffix(resource, "s"), "se") // ingresses
			g.Expect(strings.ToLower(page)).To(ContainSubstring(kind))
			named++
		}
	}
	g.Expect(named).To(BeNumerically(">=", 9))
	g.Expect(page).To(And(
		ContainSubstring("kubectl delete dojo NAME --cascade=foreground"), ContainSubstring("DB_ENDPOINT: NAME-db-rw")))
}

// The quickstart lists all kinds that dojo-operator creates, except Event, and except HTTPRoute,
// which does not exist in the quickstart's cluster.
func TestChildrenOfTheDocs(t *testing.T) {
	g := NewWithT(t)
	line := regexp.MustCompile(`kubectl get -l app\.kubernetes\.io/instance=\S+ ([a-z.,\\\n]+)\n`).
		FindStringSubmatch(text(t, "docs/learn/quickstart.md"))
	g.Expect(line).NotTo(BeNil())
	var shown []string
	for kind := range strings.SplitSeq(strings.ReplaceAll(line[1], "\\\n", ""), ",") {
		name, _, _ := strings.Cut(kind, ".")
		shown = append(shown, name)
	}
	var role rbacv1.ClusterRole
	g.Expect(pick(render(t, environment.Dojo.Base()), "ClusterRole", environment.Dojo.Name, &role)).To(Succeed())
	created := []string{"pods"} // no rule allows it, because Deployments and Jobs create the pods
	for _, rule := range role.Rules {
		if slices.Contains(rule.Verbs, "create") && !slices.Contains(rule.Resources, "events") {
			created = append(created, rule.Resources...)
		}
	}
	prose := strings.Join(strings.Fields(text(t, "docs/learn/quickstart.md")), " ")
	g.Expect(prose).To(ContainSubstring("add `httproutes`, a kind that only a cluster with the Gateway API has"))
	shown = append(shown, "httproutes")
	slices.Sort(created)
	g.Expect(shown).To(ConsistOf(slices.Compact(created)))
}
