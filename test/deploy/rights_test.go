// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"jutsu.com/operators/test/environment"
)

const enforcement = "components/owner-references-permission-enforcement"

// Operators must have the right to delete Secrets only with the component
// owner-references-permission-enforcement. The component extends the operator's ClusterRole, or its
// Roles if the component namespaced is used.
func TestDeletionOfSecrets(t *testing.T) {
	some := map[string][]string{environment.Discord.Name: {"Role " + platform + "/discord-operator"}}
	for _, o := range environment.All {
		for _, team := range teams {
			some[o.Name] = append(some[o.Name], "Role "+team+"/"+o.Name)
		}
		inAll := variant{o, "overlays/production", []string{enforcement}}.write(t)
		inSome := writeKustomization(t, "enforcement-"+o.Name, func(up string) map[string]any {
			return map[string]any{
				"resources":  []string{up + installSample},
				"components": []string{up + o.Folder() + "/" + enforcement},
			}
		})
		for folder, want := range map[string][]string{
			production(o): nil,
			inAll:         {"ClusterRole /" + o.Name},
			installSample: nil,
			inSome:        some[o.Name],
		} {
			if diff := cmp.Diff(want, mayDeleteSecrets(t, render(t, folder))); diff != "" {
				t.Errorf("%s: who may delete Secrets:\n%s", folder, diff)
			}
		}
	}
}

// mayDeleteSecrets lists the roles with a subject that have the right.
func mayDeleteSecrets(t *testing.T, objects []*unstructured.Unstructured) (roles []string) {
	t.Helper()
	g := NewWithT(t)
	for _, o := range objects {
		if o.GetKind() != "RoleBinding" && o.GetKind() != "ClusterRoleBinding" {
			continue
		}
		var binding rbacv1.ClusterRoleBinding // a RoleBinding has the same fields
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &binding)).To(Succeed())
		for _, r := range objects {
			if len(binding.Subjects) == 0 || r.GetKind() != binding.RoleRef.Kind || r.GetName() != binding.RoleRef.Name ||
				r.GetKind() == "Role" && r.GetNamespace() != o.GetNamespace() {
				continue
			}
			var role rbacv1.ClusterRole // a Role has the same rules
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object, &role)).To(Succeed())
			if slices.Contains(permissions(role.Rules), "delete secrets") {
				roles = append(roles, r.GetKind()+" "+r.GetNamespace()+"/"+r.GetName())
			}
		}
	}
	slices.Sort(roles)
	return roles
}
