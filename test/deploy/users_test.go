// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
)

// Users get rights from a role of Kubernetes, such as edit, or from a role of ours.
func TestUserRoles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster, admin := start(t, testcluster.Options{ControllerManager: true})
	for _, o := range both {
		apply(t, admin, variant{o.Operator, "base", []string{"components/aggregated-roles"}}.write(t))
	}
	for _, role := range []string{"view", "edit", "admin", "dojos-view", "dojos-edit"} {
		g.Expect(admin.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: role}},
		})).To(Succeed())
	}

	may := func(user, verb, resource, group, namespace string) bool {
		resource, sub, _ := strings.Cut(resource, "/")
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub,
			},
		}}
		g.Expect(admin.Create(t.Context(), review)).To(Succeed())
		return review.Status.Allowed
	}
	// Aggregation is asynchronous, and the authorizer sees new rules only after a delay.
	g.Eventually(func() (missing []string) {
		for user, verbs := range map[string][]string{
			"view": {"get"}, "edit": {"get", "create"}, "admin": {"get", "create", "deletecollection"},
		} {
			for _, verb := range verbs {
				if !may(user, verb, "dojos", "core.jutsu.com", "default") ||
					!may(user, verb, "discordservers", "discord.jutsu.com", "default") {
					missing = append(missing, user+" may "+verb)
				}
			}
		}
		return missing
	}).WithTimeout(waitLimit).Should(BeEmpty(), "the roles are not aggregated")
	g.Eventually(func() bool { return may("dojos-edit", "create", "dojos", "core.jutsu.com", "default") }).
		WithTimeout(waitLimit).Should(BeTrue(), "the RoleBinding that was created last should count")
	awaitKinds(t, admin, both...)

	g.Expect(may("dojos-view", "get", "dojos", "core.jutsu.com", "default")).To(BeTrue())
	g.Expect(may("dojos-view", "create", "dojos", "core.jutsu.com", "default")).To(BeFalse())
	g.Expect(may("dojos-edit", "create", "dojos", "core.jutsu.com", "default")).To(BeTrue())
	g.Expect(may("dojos-edit", "get", "secrets", "", "default")).To(BeFalse(), "a role of Dojos should not grant Secrets")
	none, view, edit := []string{}, []string{"view", "edit", "admin"}, []string{"edit", "admin"}
	rules := map[string][]string{
		"get": view, "list": view, "watch": view,
		"create": edit, "update": edit, "patch": edit, "delete": edit,
		"deletecollection": {"admin"},
	}
	sub := map[string]map[string][]string{
		"/status":     {"get": view, "update": none, "patch": none},
		"/finalizers": {"update": none},
	}
	for _, o := range both {
		for _, kind := range o.kinds {
			resource := strings.ToLower(kind.Kind) + "s"
			checks := map[string]map[string][]string{"": rules, "/status": sub["/status"], "/finalizers": sub["/finalizers"]}
			if kind.Kind == "Dojo" {
				checks["/scale"] = map[string][]string{"get": edit, "update": edit, "patch": edit}
			}
			for suffix, verbs := range checks {
				for verb, who := range verbs {
					for _, user := range []string{"view", "edit", "admin"} {
						want := strings.Contains(" "+strings.Join(who, " ")+" ", " "+user+" ")
						if got := may(user, verb, resource+suffix, kind.Group, "default"); got != want {
							t.Errorf("%s may %s %s%s: %v, want %v", user, verb, resource, suffix, got, want)
						}
						if may(user, verb, resource+suffix, kind.Group, "kube-system") {
							t.Errorf("%s may %s %s%s where no role was given", user, verb, resource, suffix)
						}
					}
				}
			}
		}
	}
	expectRealRequests(t, cluster.Config())
}

// Kubernetes' own roles have our rules only with the component aggregated-roles.
func TestAggregationIsAChoice(t *testing.T) {
	for _, o := range environment.All {
		for folder, want := range map[string][]string{
			production(o): nil,
			installSample: nil,
			variant{o, "base", []string{"components/aggregated-roles"}}.write(t): {"admin", "edit", "view"},
		} {
			var got []string
			for _, object := range render(t, folder) {
				for label := range object.GetLabels() {
					if role, ok := strings.CutPrefix(label, rbacv1.GroupName+"/aggregate-to-"); ok {
						got = append(got, role)
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: roles that change:\n%s", folder, diff)
			}
		}
	}
}

// expectRealRequests confirms the results of TestUserRoles with real requests.
func expectRealRequests(t *testing.T, config *rest.Config) {
	t.Helper()
	g := NewWithT(t)
	as := func(user string) client.Client {
		config := rest.CopyConfig(config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		c, err := client.New(config, client.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	dojo := func() *unstructured.Unstructured {
		for _, o := range render(t, "deploy/samples") {
			if o.GetKind() == "Dojo" {
				return o
			}
		}
		panic("there is no Dojo among the samples")
	}
	g.Expect(as("view").List(t.Context(), listOf(dojo().GroupVersionKind()), client.InNamespace("default"))).To(Succeed())
	g.Expect(as("view").Create(t.Context(), dojo())).To(MatchError(apierrors.IsForbidden, "forbidden"))
	g.Expect(as("edit").Create(t.Context(), dojo())).To(Succeed())
	g.Expect(as("edit").DeleteAllOf(t.Context(), dojo(), client.InNamespace("default"))).
		To(MatchError(apierrors.IsForbidden, "forbidden"))
	g.Expect(as("admin").DeleteAllOf(t.Context(), dojo(), client.InNamespace("default"))).To(Succeed())
	g.Expect(as("nobody").List(t.Context(), listOf(dojo().GroupVersionKind()), client.InNamespace("default"))).
		To(MatchError(apierrors.IsForbidden, "forbidden"))
}
