// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A paused Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	pause := func(dojo *corev1api.Dojo) {
		dojo.Annotations = map[string]string{corev1api.PausedAnnotation: "true"}
	}
	resume := func(dojo *corev1api.Dojo) { delete(dojo.Annotations, corev1api.PausedAnnotation) }
	paused := HaveCondition(corev1api.ConditionPaused, "True", corev1api.ReasonPaused)
	message := func(dojo *corev1api.Dojo, kind string) string {
		return meta.FindStatusCondition(dojo.Status.Conditions, kind).Message
	}

	It("reports the pending writes, which the operator sends after the Dojo is resumed", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, replicas(2))
		edit(ctx, dojo, pause)
		Eventually(ctx, refetch(dojo)).Should(And(paused, HaveCondition("Ready", "True", corev1api.ReasonPaused)))
		before := len(withoutStatus(operator.WritesAtRest(ns)))

		By("changing the spec, and deleting the Service")
		edit(ctx, dojo, replicas(5))
		service := serviceOf(dojo)
		Expect(k8s.Delete(ctx, service)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(And(paused, HaveCondition("Progressing", "True", corev1api.ReasonPaused),
			HaveCondition("Degraded", "False", corev1api.ReasonPaused), HaveCondition("Available", "True", "")))
		Eventually(ctx, func(ctx context.Context) (string, error) {
			_, err := refetch(dojo)(ctx)
			return message(dojo, "Ready"), err
		}).Should(And(HavePrefix("The Dojo is paused. Pending writes: Deployment tokyo, "), ContainSubstring("Service tokyo"),
			HaveSuffix(". To resume: `kubectl annotate dojos.core.jutsu.com tokyo -n "+ns+" core.jutsu.com/paused-`.")))
		Consistently(func() []string { return withoutStatus(operator.Writes(ns))[before:] }).Should(BeEmpty())

		By("resuming the Dojo")
		edit(ctx, dojo, resume)
		eventuallyReady(ctx, dojo)
		Expect(dojo).To(HaveCondition("Ready", "True", "Reconciled"))
		Expect(meta.FindStatusCondition(dojo.Status.Conditions, corev1api.ConditionPaused)).To(BeNil())
		Expect(dojo.Status.ReadyReplicas).To(Equal(int32(5)))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
	})

	It("that has been paused since its creation gets no child objects until it is resumed", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", pause)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(And(paused, HaveCondition("Progressing", "True", corev1api.ReasonPaused)))
		Consistently(func() []string { return withoutStatus(operator.Writes(ns)) }).Should(BeEmpty())
		edit(ctx, dojo, resume)
		eventuallyReady(ctx, dojo)
	})

	It("with reclaimPolicy Delete is not deleted, and keeps its data, until it is resumed", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		edit(ctx, dojo, pause)
		Eventually(ctx, refetch(dojo)).Should(paused)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonPaused)
		Expect(dojo).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonPaused))
		Expect(message(dojo, "Degraded")).To(And(ContainSubstring("neither it nor its data is deleted"),
			ContainSubstring(`-p '{"spec":{"postgres":{"reclaimPolicy":"Retain"}}}'`),
			HaveSuffix("the database is then deleted with its data.")))
		Consistently(func() []string { return deletions(ns) }).Should(BeEmpty())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(dojo), &appsv1.Deployment{})).To(Succeed())
		edit(ctx, dojo, resume)
		eventuallyGone(ctx, dojo)
		Expect(deletions(ns)).To(ContainElement("delete databases/tokyo-db"))
	})

	It("with reclaimPolicy Delete is deleted without its data "+
		"after a user runs the commands in its message", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		edit(ctx, dojo, pause)
		Eventually(ctx, refetch(dojo)).Should(paused)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonPaused)
		patch := regexp.MustCompile("To keep the data: `.* --type=merge -p '(.*)'`").FindStringSubmatch(message(dojo, "Degraded"))
		Expect(patch).To(HaveLen(2))
		Expect(k8s.Patch(ctx, dojo, client.RawPatch(types.MergePatchType, []byte(patch[1])))).To(Succeed())
		edit(ctx, dojo, resume)
		eventuallyGone(ctx, dojo)
		for _, kind := range []string{"Database", "DatabaseRole"} {
			Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), ofKind(kind, ns, "tokyo-db"))).To(Succeed(), kind)
		}
		Expect(deletions(ns)).NotTo(ContainElement("delete databases/tokyo-db"))
	})
})
