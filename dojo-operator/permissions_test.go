package main_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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
	Expect(used.Save(permissionsOf(GinkgoParallelProcess()))).To(Succeed())
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
		used, err := rbacusage.Load(permissionsOf(process))
		Expect(err).NotTo(HaveOccurred())
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
	allowed := func(ctx context.Context) (bool, error) {
		return rbacusage.Allowed(ctx, k8s, "dojo-system", "dojo-operator", p)
	}
	giveBack, err := rbacusage.Withdraw(ctx, k8s, "dojo-operator", p)
	Expect(err).NotTo(HaveOccurred())
	restore = func(ctx context.Context) {
		Expect(giveBack(ctx)).To(Succeed())
		Eventually(ctx, allowed).Should(BeTrue())
	}
	DeferCleanup(restore)
	Eventually(ctx, allowed).Should(BeFalse())
	return restore
}
