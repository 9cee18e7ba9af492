package main_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// test/deploy shows that the permissions of deploy/dojo-operator/components/namespaced suffice for this.
var _ = Describe("--watch-namespaces", func() {
	It("looks at the named namespaces and at no other", func(ctx context.Context) {
		here, there, elsewhere := newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)
		operator.Restart(ctx, "--watch-namespaces="+there+","+here)
		Expect(k8s.Create(ctx, source(elsewhere, "pg-app"))).To(Succeed())
		ignored := newDojo(elsewhere, "tokyo")
		Expect(k8s.Create(ctx, ignored)).To(Succeed())
		runningDojo(ctx, there)
		d := runningDojo(ctx, here)
		Consistently(ctx, refetch(ignored)).WithTimeout(time.Second).Should(HaveField("Status.Conditions", BeEmpty()), "its namespace is not watched")

		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.CredentialsRef.Namespace = elsewhere })
		eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsNotShared)
		Expect(message(d, "Degraded")).To(ContainSubstring("a namespace that this operator does not watch"))
		Expect(operator.Writes(elsewhere)).To(BeEmpty())
	})
})
