// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"jutsu.com/operators/test/environment"
)

const enforcement = "components/owner-references-permission-enforcement"

// Only the component owner-references-permission-enforcement permits the deletion of Secrets.
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

// mayDeleteSecrets returns the roles that permit the deletion of Secrets. It omits the ClusterRoles
// that components/namespaced revokes: the bindings of these ClusterRoles have no subjects.
func mayDeleteSecrets(t *testing.T, objects []*unstructured.Unstructured) (roles []string) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		var r rbacv1.ClusterRole // a Role has the same rules
		NewWithT(t).Expect(pick([]*unstructured.Unstructured{o}, o.GetKind(), o.GetName(), &r)).To(Succeed())
		if slices.Contains(permissions(r.Rules), "delete secrets") && !isRevoked(objects, o) {
			roles = append(roles, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
		}
	}
	slices.Sort(roles)
	return roles
}

func isRevoked(objects []*unstructured.Unstructured, role *unstructured.Unstructured) bool {
	var binding rbacv1.ClusterRoleBinding
	return role.GetKind() == "ClusterRole" &&
		pick(objects, "ClusterRoleBinding", role.GetName(), &binding) == nil && len(binding.Subjects) == 0
}
