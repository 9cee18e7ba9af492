// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// The operator has cluster-wide permissions here. test/deploy checks the namespaced permissions.
var _ = Describe("--watch-namespaces", func() {
	It("restricts the operator to the named namespaces", func(ctx context.Context) {
		here, there, elsewhere := newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)
		operator.Restart(ctx, "--watch-namespaces="+there+","+here)
		Expect(k8s.Create(ctx, source(elsewhere, "pg-app"))).To(Succeed())
		ignored := newDojo(elsewhere, "tokyo")
		Expect(k8s.Create(ctx, ignored)).To(Succeed())
		runningDojo(ctx, there)
		dojo := runningDojo(ctx, here)
		Consistently(ctx, refetch(ignored)).WithTimeout(time.Second).
			Should(HaveField("Status.Conditions", BeEmpty()), "its namespace is not watched")

		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Namespace = elsewhere })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotShared)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("a namespace that this operator does not watch"))
		Expect(operator.Writes(elsewhere)).To(BeEmpty())
	})
})
