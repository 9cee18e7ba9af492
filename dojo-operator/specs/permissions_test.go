// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/rbacusage"
)

var _ = Describe("The operator's permissions", func() {
	It("include list, "+
		"which the client requires when its feature WatchListClient is off", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { operator.Restart(ctx) }) // with the environment as it was before
		GinkgoT().Setenv("KUBE_FEATURE_WatchListClient", "false")
		operator.Restart(ctx)
		runningDojo(ctx, newNamespace(ctx))
	})

	It("include update of dojos/finalizers, "+
		"which some clusters require for blockOwnerDeletion", func(ctx context.Context) {
		update := rbacusage.Permission{Group: "core.jutsu.com", Resource: "dojos/finalizers", Verb: "update"}
		restore := operator.Without(ctx, update)
		ns := newNamespace(ctx)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonChildRefused)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("Forbidden"))
		restore(ctx)
		Eventually(ctx, refetch(dojo)).WithTimeout(2*soon).
			Should(HaveCondition("Ready", "True", ""), "the operator should retry")
		operator.Proven(update)
	})

	It("include delete of Secrets, "+
		"which some clusters require for the removal of an owner reference", func(ctx context.Context) {
		remove := rbacusage.Permission{Resource: "secrets", Verb: "delete"}
		ns := newNamespace(ctx)
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		restore := operator.Without(ctx, remove)
		// The operator must remove the owner reference of the password's Secret.
		edit(ctx, dojo, withPolicy(corev1api.ReclaimRetain))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonChildRefused)
		restore(ctx)
		Eventually(ctx, refetch(dojo)).WithTimeout(2*soon).
			Should(HaveCondition("Ready", "True", ""), "the operator should retry")
		Expect(refetch(passwordSecretOf(dojo))(ctx)).To(HaveField("OwnerReferences", BeEmpty()))
		operator.Proven(remove)
	})
})
