package main_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/testcluster/rbacusage"
)

var _ = Describe("The operator's permissions", func() {
	It("include to list, for API servers that do not stream lists, which is those before Kubernetes 1.34", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { operator.Restart(ctx) }) // when the variable is as before
		GinkgoT().Setenv("KUBE_FEATURE_WatchListClient", "false")
		operator.Restart(ctx)
		runningDojo(ctx, newNamespace(ctx))
	})

	It("include to write finalizers, for clusters that ask it of whoever holds back a deletion", func(ctx context.Context) {
		update := rbacusage.Permission{Group: "core.jutsu.com", Resource: "dojos/finalizers", Verb: "update"}
		restore := operator.Without(ctx, update)
		ns := newNamespace(ctx)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonChildRefused)
		Expect(message(d, "Degraded")).To(ContainSubstring("Forbidden"))
		restore(ctx)
		Eventually(ctx, refetch(d)).WithTimeout(2*soon).Should(HaveCondition("Ready", "True", ""), "it is tried again")
		operator.Proven(update)
	})

	It("include to delete Secrets, for clusters that ask it of whoever takes an owner off one", func(ctx context.Context) {
		remove := rbacusage.Permission{Resource: "secrets", Verb: "delete"}
		ns := newNamespace(ctx)
		d := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		restore := operator.Without(ctx, remove)
		edit(ctx, d, withPolicy(corev1api.ReclaimRetain)) // so that the garbage collector does not take the password
		eventuallyDegraded(ctx, d, corev1api.ReasonChildRefused)
		restore(ctx)
		Eventually(ctx, refetch(d)).WithTimeout(2*soon).Should(HaveCondition("Ready", "True", ""), "it is tried again")
		Expect(refetch(passwordSecretOf(d))(ctx)).To(HaveField("OwnerReferences", BeEmpty()))
		operator.Proven(remove)
	})
})
