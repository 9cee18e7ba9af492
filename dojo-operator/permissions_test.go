package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/testcluster/rbacusage"
)

// proven are permissions that the API server asks for without a request for them, by specs that show what happens without.
var proven = rbacusage.Set{}

// permissionsOf is where a process of the test runner leaves what the operator has used there.
func permissionsOf(process int) string {
	return filepath.Join("..", "out", "dojo-operator", fmt.Sprintf("permissions-%d.json", process))
}

var _ = AfterSuite(func() {
	if cluster == nil {
		return
	}
	used, err := rbacusage.Used(cluster.AuditLog(), "dojo-system", "dojo-operator")
	Expect(err).NotTo(HaveOccurred())
	for p := range proven {
		used[p] = true
	}
	text, err := json.Marshal(used)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(permissionsOf(GinkgoParallelProcess()), text, 0o644)).To(Succeed())
})

// The other direction, that nothing is missing, is what all specs show.
var _ = ReportAfterSuite("the operator uses every permission that it is given", func(report Report) {
	c := report.SuiteConfig
	filters := slices.Concat(c.FocusStrings, c.SkipStrings, c.FocusFiles, c.SkipFiles)
	if !report.SuiteSucceeded || report.SuiteHasProgrammaticFocus || len(filters) > 0 || c.LabelFilter != "" || c.DryRun {
		return // not all specs ran
	}
	granted, err := rbacusage.Granted(deployed, "dojo-system", "dojo-operator")
	Expect(err).NotTo(HaveOccurred())
	for process := 1; process <= c.ParallelTotal; process++ {
		text, err := os.ReadFile(permissionsOf(process))
		Expect(err).NotTo(HaveOccurred())
		var used rbacusage.Set
		Expect(json.Unmarshal(text, &used)).To(Succeed())
		granted = granted.Without(used)
	}
	Expect(granted.Sorted()).To(BeEmpty(), "no spec needs these permissions: take them out of the +kubebuilder:rbac markers, or show what they are for")
})

var _ = Describe("The operator's permissions", func() {
	It("include to list, for API servers that do not stream lists, which is those before Kubernetes 1.34", func(ctx context.Context) {
		restart := func(ctx context.Context) {
			operator.stop()
			operator = startOperator(ctx)
		}
		DeferCleanup(restart) // when the variable is as before
		GinkgoT().Setenv("KUBE_FEATURE_WatchListClient", "false")
		restart(ctx)
		runningDojo(ctx, newNamespace(ctx))
	})

	It("include to write finalizers, for clusters that ask it of whoever holds back a deletion", func(ctx context.Context) {
		update := rbacusage.Permission{Group: "core.jutsu.com", Resource: "dojos/finalizers", Verb: "update"}
		restore := without(ctx, update)
		ns := newNamespace(ctx)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonChildRefused)
		Expect(message(d, "Degraded")).To(ContainSubstring("Forbidden"))
		restore(ctx)
		Eventually(ctx, refetch(d)).WithTimeout(2*soon).Should(HaveCondition("Ready", "True", ""), "it is tried again")
		proven[update] = true
	})

	It("include to delete Secrets, for clusters that ask it of whoever takes an owner off one", func(ctx context.Context) {
		remove := rbacusage.Permission{Resource: "secrets", Verb: "delete"}
		ns := newNamespace(ctx)
		d := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		restore := without(ctx, remove)
		edit(ctx, d, withPolicy(corev1api.ReclaimRetain)) // so that the garbage collector does not take the password
		eventuallyDegraded(ctx, d, corev1api.ReasonChildRefused)
		restore(ctx)
		Eventually(ctx, refetch(d)).WithTimeout(2*soon).Should(HaveCondition("Ready", "True", ""), "it is tried again")
		Expect(refetch(passwordSecretOf(d))(ctx)).To(HaveField("OwnerReferences", BeEmpty()))
		proven[remove] = true
	})
})

// without takes a permission from the operator, until the spec is over or what it returns is called.
func without(ctx context.Context, p rbacusage.Permission) (restore func(context.Context)) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(k8s.Get(ctx, client.ObjectKey{Name: "dojo-operator"}, role)).To(Succeed())
	complete := role.DeepCopy()
	for i := range role.Rules {
		if r := &role.Rules[i]; slices.Contains(r.Resources, p.Resource) {
			r.Verbs = slices.DeleteFunc(r.Verbs, func(verb string) bool { return verb == p.Verb })
		}
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
	Expect(role.Rules).NotTo(Equal(complete.Rules), "it has not %s", p)
	Expect(k8s.Update(ctx, role)).To(Succeed())
	Eventually(ctx, allowed).WithArguments(p).Should(BeFalse())
	restore = func(ctx context.Context) {
		complete.ResourceVersion = ""
		Expect(k8s.Update(ctx, complete)).To(Succeed())
		Eventually(ctx, allowed).WithArguments(p).Should(BeTrue())
	}
	DeferCleanup(restore)
	return restore
}

// allowed asks the API server whether the operator has a permission in some namespace.
func allowed(ctx context.Context, p rbacusage.Permission) (bool, error) {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:dojo-system:dojo-operator",
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "default", Verb: p.Verb, Group: p.Group, Resource: resource, Subresource: sub,
		},
	}}
	err := k8s.Create(ctx, review)
	return review.Status.Allowed, err
}
