// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

const (
	goodImage   = "registry.example.org/dojo:1"
	brokenImage = "registry.invalid/dojo:2" // no fake node runs an image of this registry
)

func withRollout(rollout corev1api.Rollout) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.Rollout = &rollout }
}

func haveImage(image string) OmegaMatcher {
	return HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", image)))
}

var _ = Describe("spec.rollout", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("sets the rollout strategy of the Deployment, "+
		"and the operator reverts another client's edit", func(ctx context.Context) {
		quarter, two := intstr.FromString("25%"), intstr.FromInt32(2)
		dojo := runningDojo(ctx, ns, withRollout(corev1api.Rollout{MaxUnavailable: &quarter, MaxSurge: &two,
			MinReadySeconds: 1}))
		live := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live.Spec.Strategy.RollingUpdate).To(HaveValue(Equal(appsv1.RollingUpdateDeployment{
			MaxUnavailable: &quarter, MaxSurge: &two})))
		Expect(live.Spec.MinReadySeconds).To(Equal(int32(1)))
		Expect(live.Spec.ProgressDeadlineSeconds).To(HaveValue(Equal(int32(progressDeadline.Seconds() + 1))))
		edit(ctx, live, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 9 })
		Eventually(ctx, refetch(live)).Should(HaveField("Spec.MinReadySeconds", int32(1)))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Rollout = nil })
		Eventually(ctx, refetch(live)).Should(And(HaveField("Spec.MinReadySeconds", int32(0)),
			HaveField("Spec.Strategy.RollingUpdate.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(0))))))
		eventuallyReady(ctx, dojo)
	})

	It("with rollback Automatic, rolls a failing image back only once, "+
		"and tries the next image", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2), withImage(goodImage),
			withRollout(corev1api.Rollout{Rollback: corev1api.RollbackAutomatic}))
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Rollout",
			HaveValue(Equal(corev1api.RolloutStatus{ServedImage: goodImage}))))
		edit(ctx, dojo, withImage(brokenImage))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonRolloutFailed)
		live := deploymentOf(dojo)
		Eventually(ctx, refetch(live)).Should(And(haveImage(goodImage), HaveField("Status.AvailableReplicas", int32(2)),
			HaveField("Status.UpdatedReplicas", int32(2))))
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Rollout", HaveValue(Equal(corev1api.RolloutStatus{
			ServedImage: goodImage, RefusedImage: brokenImage, RefusedReason: corev1api.ReasonImagePullBackOff,
		}))))
		Expect(message(dojo, "Degraded")).To(And(ContainSubstring(goodImage), ContainSubstring(brokenImage)))
		Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))

		By("restarting the operator without a second attempt to roll out the failing image, and scaling")
		generation := live.Generation
		operator.Restart(ctx)
		Consistently(ctx, refetch(live)).Should(And(haveImage(goodImage), HaveField("Generation", generation)))
		edit(ctx, dojo, replicas(3))
		Eventually(ctx, refetch(live)).Should(And(haveImage(goodImage), HaveField("Status.AvailableReplicas", int32(3))))

		By("naming another image")
		edit(ctx, dojo, withImage("registry.example.org/dojo:3"))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Rollout).To(HaveValue(Equal(corev1api.RolloutStatus{ServedImage: "registry.example.org/dojo:3"})))
		Eventually(ctx, refetch(live)).Should(HaveField("Annotations", Not(HaveKey("core.jutsu.com/refused-image"))))
	})

	It("with rollback Automatic, rolls back a failing image "+
		"that a user set while the Dojo had 0 replicas", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, withImage(goodImage),
			withRollout(corev1api.Rollout{Rollback: corev1api.RollbackAutomatic}))
		live := deploymentOf(dojo)
		edit(ctx, dojo, replicas(0))
		Eventually(ctx, refetch(live)).Should(HaveField("Status.Replicas", BeZero()))
		edit(ctx, dojo, withImage(brokenImage))
		Eventually(ctx, refetch(live)).Should(haveImage(brokenImage))
		edit(ctx, dojo, replicas(1))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonRolloutFailed)
		Eventually(ctx, refetch(live)).Should(And(haveImage(goodImage), HaveField("Status.AvailableReplicas", int32(1))))
	})

	It("with rollback Manual, keeps a failing image in the Deployment "+
		"while the former pods serve", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, withImage(goodImage), withRollout(corev1api.Rollout{Rollback: corev1api.RollbackManual}))
		edit(ctx, dojo, withImage(brokenImage))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonImagePullBackOff)
		Consistently(ctx, refetch(deploymentOf(dojo))).Should(haveImage(brokenImage))
		Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		Expect(dojo.Status.Rollout).To(BeNil())
	})

	It("does not roll back to an image that another client wrote into the Deployment "+
		"and its annotations", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, withImage(goodImage),
			withRollout(corev1api.Rollout{Rollback: corev1api.RollbackAutomatic}))
		live := deploymentOf(dojo)
		operator.Stop()
		edit(ctx, live, func(d *appsv1.Deployment) {
			d.Annotations["core.jutsu.com/refused-image"] =
				`{"Image":"` + goodImage + `","Reason":"x","Former":"evil.example.org/dojo:1"}`
			d.Spec.Template.Spec.Containers[0].Image = "evil.example.org/dojo:1"
		})
		Eventually(ctx, refetch(live)).Should(HaveField("Status.UpdatedReplicas", int32(1)))
		operator.Start(ctx)
		Eventually(ctx, refetch(live)).Should(haveImage(goodImage))
		edit(ctx, dojo, withImage(brokenImage))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonRolloutFailed)
		Eventually(ctx, refetch(live)).Should(haveImage(goodImage))
		Expect(dojo.Status.Rollout.ServedImage).To(Equal(goodImage))
	})

	DescribeTable("refuses an invalid value", func(ctx context.Context, rollout map[string]any, want string) {
		o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(newDojo(ns, "tokyo"))
		Expect(err).NotTo(HaveOccurred())
		delete(o, "status")
		at("rollout", rollout)(o)
		dojo := &unstructured.Unstructured{Object: o}
		dojo.SetGroupVersionKind(corev1api.GroupVersion.WithKind("Dojo"))
		Expect(k8s.Create(ctx, dojo)).To(MatchError(ContainSubstring(want)))
	},
		Entry("maxSurge 0 with the default maxUnavailable 0", map[string]any{"maxSurge": int64(0)}, "cannot both be 0"),
		Entry("0% as both maxSurge and maxUnavailable", map[string]any{"maxSurge": "0%", "maxUnavailable": "0%"},
			"cannot both be 0"),
		Entry("a maxUnavailable of more than 100%", map[string]any{"maxUnavailable": "101%"}, "spec.rollout.maxUnavailable"),
		Entry("a word as maxSurge", map[string]any{"maxSurge": "many"}, "spec.rollout.maxSurge"),
		Entry("a negative maxSurge", map[string]any{"maxSurge": int64(-1)}, "must be a number from 0 to 1000"),
		Entry("a maxUnavailable of more than 1000", map[string]any{"maxUnavailable": int64(1001)},
			"must be a number from 0 to 1000"),
		Entry("a negative minReadySeconds", map[string]any{"minReadySeconds": int64(-1)}, "spec.rollout.minReadySeconds"),
		Entry("a word as progressDeadline", map[string]any{"progressDeadline": "soon"},
			"must be a duration in whole seconds"),
		Entry("an empty progressDeadline", map[string]any{"progressDeadline": ""}, "must be a duration in whole seconds"),
		Entry("a progressDeadline of more than 24 hours", map[string]any{"progressDeadline": "25h"},
			"must be from 1s to 24h"),
		Entry("a progressDeadline of 0 seconds", map[string]any{"progressDeadline": "0s"}, "must be from 1s to 24h"),
		Entry("a progressDeadline that is not longer than minReadySeconds",
			map[string]any{"progressDeadline": "10s", "minReadySeconds": int64(10)},
			"must be longer than minReadySeconds"),
		Entry("an unknown value of rollback", map[string]any{"rollback": "Always"},
			`supported values: "Manual", "Automatic"`),
	)
})
