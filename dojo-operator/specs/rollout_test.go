// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The rollout of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("keeps the Dojo Available while it is scaled", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(3))
		states := watchStatus(ctx, dojo)
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
		Expect(k8s.SubResource("scale").Update(ctx, dojo, client.WithSubResourceBody(scale))).To(Succeed())
		Eventually(ctx, refetch(dojo)).
			Should(And(HaveField("Status.ReadyStatus", "5/5"), HaveCondition("Ready", "True", "")))
		Expect(states()).To(And(
			Not(BeEmpty()),
			HaveEach(WithTransform(isAvailable, BeTrue())),
			ContainElement(WithTransform(isProgressing, BeTrue())),
		), "the Dojo should be Available all the time, and Progressing")
	})

	It("makes the Dojo Ready but not Available when a user scales it to zero", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		edit(ctx, dojo, replicas(0))
		Eventually(ctx, refetch(dojo)).Should(And(
			HaveCondition("Ready", "True", ""), HaveCondition("Available", "False", corev1api.ReasonScaledToZero),
			HaveCondition("Degraded", "False", ""), HaveField("Status.ReadyStatus", "0/0")))
		Eventually(ctx, runningPods(dojo)).Should(BeEmpty())
		edit(ctx, dojo, replicas(1))
		Eventually(ctx, refetch(dojo)).
			Should(And(HaveCondition("Ready", "True", ""), HaveCondition("Available", "True", "")))
		Eventually(ctx, eventsOf(dojo)).ShouldNot(ContainElement(HavePrefix("Warning")))
	})

	It("can start with no replicas", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(0))
		Expect(dojo).To(HaveCondition("Available", "False", corev1api.ReasonScaledToZero))
	})

	It("reports that the API server refuses a child, "+
		"and retries after a pause of about 15 seconds", func(ctx context.Context) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
		}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, refetch(quota)).Should(HaveField("Status.Hard", Not(BeEmpty())))
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonChildRefused)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("exceeded quota: none"))
		attempts := 0
		// Events of other children may cause a second attempt after two seconds.
		Eventually(func() int {
			before := attempts
			attempts = len(creations(ns, "deployments"))
			return attempts - before
		}).WithPolling(3*time.Second).MustPassRepeatedly(2).Should(BeZero(), "the operator should not retry at once")
		Expect(k8s.Delete(ctx, quota)).To(Succeed())
		eventuallyReady(ctx, dojo)
		created := creations(ns, "deployments")
		Expect(len(created)).To(BeNumerically(">", attempts))
		Expect(created[attempts].Sub(created[attempts-1])).
			To(BeNumerically("~", 15*time.Second, 8*time.Second), "the attempts were at %v", created)
	})

	It("reports that the API server refuses pods, "+
		"and completes when the API server admits them", func(ctx context.Context) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
		}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, refetch(quota)).Should(HaveField("Status.Hard", Not(BeEmpty())))
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", replicas(3))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonReplicaFailure)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("exceeded quota: one"))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", ""), "one replica of three runs")
		Expect(dojo).To(HaveCondition("Ready", "False", corev1api.ReasonReplicaFailure))
		Expect(k8s.Delete(ctx, quota)).To(Succeed())
		eventuallyReady(ctx, dojo)
	})

	It("makes the Dojo Degraded if no node has taken its pods by the progress deadline", func(ctx context.Context) {
		var nodes corev1.NodeList
		Expect(k8s.List(ctx, &nodes)).To(Succeed())
		cordon := func(ctx context.Context, off bool) {
			for i := range nodes.Items {
				edit(ctx, &nodes.Items[i], func(n *corev1.Node) { n.Spec.Unschedulable = off })
			}
		}
		cordon(ctx, true)
		DeferCleanup(cordon, false)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).
			Should(haveMessage("Progressing", ContainSubstring("it cannot be scheduled")))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnschedulable)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("with no progress for " + progressDeadline.String()))
		cordon(ctx, false)
		eventuallyReady(ctx, dojo)
	})

	It("reports an image that cannot be pulled, and completes with another image", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		operator.Restart(ctx, "--dojo-image=registry.invalid/dojo:1")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonImagePullBackOff)
		Expect(message(dojo, "Degraded")).
			To(And(ContainSubstring("registry.invalid/dojo:1"), ContainSubstring("2 of 2 replicas are ready")))
		Expect(dojo).To(HaveCondition("Available", "True", ""), "the old pods still serve")
		operator.Restart(ctx)
		eventuallyReady(ctx, dojo)
	})
})

var _ = Describe("The life cycle of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("ends with the deletion of the Dojo's children", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		children := []client.Object{deploymentOf(dojo), serviceOf(dojo), secretOf(dojo), budgetOf(dojo)}
		Expect(k8s.Delete(ctx, dojo, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		for _, child := range append(children, dojo) {
			Eventually(ctx, func(ctx context.Context) bool {
				return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(child), child))
			}).Should(BeTrue(), "the %T should be deleted", child)
		}
		Eventually(ctx, runningPods(dojo)).Should(BeEmpty())
		Expect(k8s.Get(ctx, nameOf(ns, "pg-app"), &corev1.Secret{})).
			To(Succeed(), "the user's Secret is not the operator's to delete")
	})

	It("leads 20 Dojos to the same state although the operator is killed several times", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		var dojos []*corev1api.Dojo
		for i := range 20 {
			dojo := newDojo(ns, fmt.Sprintf("tokyo-%d", i), replicas(2))
			Expect(k8s.Create(ctx, dojo)).To(Succeed())
			dojos = append(dojos, dojo)
			// At each kill, the last Dojo is new, and the first Dojo may be Ready already.
			if i%4 == 3 {
				operator.Kill(ctx)
				operator.Start(ctx)
			}
		}
		for _, dojo := range dojos {
			eventuallyReady(ctx, dojo)
		}
		for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}} {
			Expect(k8s.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			Expect(meta.LenList(list)).To(Equal(20))
		}
		expectAlike(ctx, dojos)

		By("rotating the password")
		rotated := newPassword()
		edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
			s.Data["password"] = []byte(rotated)
		})
		Eventually(ctx, func(ctx context.Context) (all []string, err error) {
			for _, dojo := range dojos {
				own, err := refetch(secretOf(dojo))(ctx)
				if err != nil {
					return nil, err
				}
				all = append(all, passwordOf(own))
			}
			return all, nil
		}).WithPolling(time.Millisecond).Should(ContainElement(rotated), "at least one Secret should have the new password")
		operator.Kill(ctx)
		operator.Start(ctx)
		for _, dojo := range dojos {
			Eventually(ctx, refetch(secretOf(dojo))).Should(WithTransform(passwordOf, Equal(rotated)))
			Eventually(ctx, revisions(dojo)).
				Should(And(HaveLen(1), Not(HaveKey(""))), "the pods should read the password that the Secret has")
			eventuallyReady(ctx, dojo)
		}
		expectAlike(ctx, dojos)
	})

	It("causes no write after a restart of the operator", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		operator.Stop()
		before := len(operator.Writes(ns))
		operator.Start(ctx)
		// Once a second Dojo is Ready, the operator has also reconciled the first Dojo.
		other := newDojo(ns, "kyoto")
		Expect(k8s.Create(ctx, other)).To(Succeed())
		eventuallyReady(ctx, other)
		Consistently(func() []string { return operator.Writes(ns)[before:] }).
			ShouldNot(ContainElement(ContainSubstring("/" + dojo.Name)))
	})
})

func creations(namespace, resource string) []time.Time {
	GinkgoHelper()
	var times []time.Time
	for _, e := range operator.Requests() {
		ref := e.ObjectRef
		if e.Verb == "create" && ref != nil && ref.Namespace == namespace && ref.Resource == resource {
			times = append(times, e.RequestReceivedTimestamp.Time)
		}
	}
	return times
}

func revisions(dojo *corev1api.Dojo) func(context.Context) (map[string]bool, error) {
	const annotation = "core.jutsu.com/credentials-revision"
	return func(ctx context.Context) (map[string]bool, error) {
		own, live := secretOf(dojo), deploymentOf(dojo)
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(own), own); err != nil {
			return nil, err
		}
		err := k8s.Get(ctx, client.ObjectKeyFromObject(live), live)
		return map[string]bool{own.Annotations[annotation]: true, live.Spec.Template.Annotations[annotation]: true}, err
	}
}

func expectAlike(ctx context.Context, dojos []*corev1api.Dojo) {
	GinkgoHelper()
	var first []string
	for _, dojo := range dojos {
		live, service, budget, own := deploymentOf(dojo), serviceOf(dojo), budgetOf(dojo), secretOf(dojo)
		for _, child := range []client.Object{live, service, budget, own} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		}
		live.Spec.Template.Annotations = nil
		service.Spec.ClusterIP, service.Spec.ClusterIPs = "", nil
		var all []string
		for _, part := range []any{
			live.Spec, live.Labels, service.Spec, service.Labels, budget.Spec, budget.Labels, own.Data, own.Labels,
		} {
			text, err := json.Marshal(part)
			Expect(err).NotTo(HaveOccurred())
			all = append(all, strings.ReplaceAll(string(text), dojo.Name, "NAME"))
		}
		if first == nil {
			first = all
		}
		Expect(slices.Equal(all, first)).To(BeTrue(), "%s should be like %s", dojo.Name, dojos[0].Name)
	}
}

func isAvailable(dojo *corev1api.Dojo) bool {
	return meta.IsStatusConditionTrue(dojo.Status.Conditions, "Available")
}

func isProgressing(dojo *corev1api.Dojo) bool {
	return meta.IsStatusConditionTrue(dojo.Status.Conditions, "Progressing")
}

func watchStatus(ctx context.Context, dojo *corev1api.Dojo) func() []*corev1api.Dojo {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, &corev1api.DojoList{}, client.InNamespace(dojo.Namespace))
	Expect(err).NotTo(HaveOccurred())
	var states []*corev1api.Dojo
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range stream.ResultChan() {
			if e.Type != watch.Error {
				states = append(states, e.Object.(*corev1api.Dojo))
			}
		}
	}()
	return func() []*corev1api.Dojo {
		stream.Stop()
		<-done
		return states
	}
}
