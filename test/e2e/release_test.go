// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/environment"
)

var _ = Describe("A Dojo under load with a release step", Label("database"), Ordered, Serial, func() {
	var w *world
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, "release")
		w.apply(ctx, fmt.Sprintf(`
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: nagoya}
spec:
  accountId: Kasumi Miwa
  title: Nagoya Branch
  replicas: 2
  image: %q
  release: {command: [/dojo, release, first, 0s]}
  postgres: {cluster: {storage: {size: 1Gi}}}
`, installed.Images[DojoApp]))
		w.awaitReady(ctx, "nagoya")
		Expect(w.steps(ctx, "nagoya", "first")).To(Equal(steps{1, 1}))
		w.visit(ctx, "nagoya")
	}, NodeTimeout(10*time.Minute))

	var before []any // pods of the former image

	begin := func(ctx context.Context, image, name, takes string) {
		GinkgoHelper()
		before = w.podNames(ctx, "nagoya")
		w.patch(ctx, "nagoya", fmt.Sprintf(`{"spec":{"image":%q,"release":{"command":["/dojo","release",%q,%q]}}}`,
			installed.Images[image], name, takes))
		Eventually(ctx, w.steps).WithArguments("nagoya", name).Should(HaveField("Begun", 1))
	}

	// succeed expects one completed release step, before a pod with the new image starts.
	succeed := func(ctx context.Context, image, name string, begun int) {
		GinkgoHelper()
		Eventually(ctx, func() (steps, error) {
			pods := w.podNames(ctx, "nagoya")
			s, err := w.steps(ctx, "nagoya", name)
			if err == nil && s.Completed == 0 {
				Expect(pods).To(ConsistOf(before...), "no pod starts before the step has succeeded")
			}
			return s, err
		}).WithTimeout(eventually).Should(HaveField("Completed", 1))
		w.awaitReady(ctx, "nagoya")
		pods, err := w.pods(ctx, "nagoya")
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(And(HaveLen(2),
			HaveEach(HaveField("Spec.Containers", HaveEach(HaveField("Image", installed.Images[image]))))))
		Consistently(ctx, w.steps).WithArguments("nagoya", name).Should(Equal(steps{begun, 1}))
		visits, err := w.visits(ctx, "nagoya")
		Expect(err).NotTo(HaveOccurred())
		measured("release step %q: begun %d, completed 1; %d of %d requests failed so far", name, begun, visits.Failures,
			visits.Failures+visits.Answers)
		Expect(visits).To(HaveField("Failures", 0), "the field Last has the last failure")
	}

	It("completes the step exactly once when the operator's leader is killed while the step runs", func(ctx SpecContext) {
		begin(ctx, NextDojoApp, "leader killed", "30s")
		killed := leader(ctx, environment.Dojo)
		killLeader(ctx, environment.Dojo, killed)
		Eventually(ctx, leader).WithArguments(environment.Dojo).Should(And(Not(BeEmpty()), Not(Equal(killed))))
		succeed(ctx, NextDojoApp, "leader killed", 1)
	}, SpecTimeout(5*time.Minute))

	It("begins the step again when its Job and pod are deleted, and completes it exactly once", func(ctx SpecContext) {
		begin(ctx, DojoApp, "job deleted", "15s")
		for _, kind := range []client.Object{&batchv1.Job{}, &corev1.Pod{}} {
			Expect(k8s.DeleteAllOf(ctx, kind, client.InNamespace(w.namespace), client.MatchingLabels{
				"app.kubernetes.io/name": "dojo-release", "app.kubernetes.io/instance": "nagoya",
			}, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		}
		succeed(ctx, DojoApp, "job deleted", 2)
	}, SpecTimeout(5*time.Minute))

	It("keeps its pods when the step fails, and completes the corrected step exactly once", func(ctx SpecContext) {
		begin(ctx, NextDojoApp, "wrong", "soon")
		Eventually(ctx, w.condition).WithArguments("nagoya", "Degraded").WithTimeout(eventually).
			Should(And(HavePrefix("True "+corev1api.ReasonReleaseFailed), ContainSubstring(`invalid duration "soon"`)))
		Consistently(ctx, w.podNames).WithArguments("nagoya").WithTimeout(15 * time.Second).Should(ConsistOf(before...))
		Expect(w.steps(ctx, "nagoya", "wrong")).To(Equal(steps{Begun: 1}))
		begin(ctx, NextDojoApp, "corrected", "5s")
		succeed(ctx, NextDojoApp, "corrected", 1)
	}, SpecTimeout(5*time.Minute))
})

type steps struct{ Begun, Completed int }

func (w *world) steps(ctx context.Context, dojo, name string) (s steps, err error) {
	weapons, err := w.weapons(ctx, dojo)
	for _, weapon := range weapons {
		switch weapon.Name {
		case name + " begun":
			s.Begun++
		case name + " completed":
			s.Completed++
		}
	}
	return s, err
}
