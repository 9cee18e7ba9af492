package main_test

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

var _ = Describe("A Dojo's rollout", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("keeps a Dojo available while it is scaled through its scale subresource", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(3))
		seen := watchStatus(ctx, d)
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
		Expect(k8s.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale))).To(Succeed())
		Eventually(ctx, refetch(d)).Should(And(HaveField("Status.ReadyStatus", "5/5"), HaveCondition("Ready", "True", "")))
		Expect(seen()).To(And(
			Not(BeEmpty()),
			HaveEach(WithTransform(isAvailable, BeTrue())),
			ContainElement(WithTransform(isProgressing, BeTrue())),
		), "Available should hold all the way, and Progressing be told")
	})

	It("calls a Dojo that is scaled to nothing ready and not available", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2))
		edit(ctx, d, replicas(0))
		Eventually(ctx, refetch(d)).Should(And(
			HaveCondition("Ready", "True", ""), HaveCondition("Available", "False", corev1api.ReasonScaledToZero),
			HaveCondition("Degraded", "False", ""), HaveField("Status.ReadyStatus", "0/0")))
		Eventually(ctx, runningPods(d)).Should(BeEmpty())
		edit(ctx, d, replicas(1))
		Eventually(ctx, refetch(d)).Should(And(HaveCondition("Ready", "True", ""), HaveCondition("Available", "True", "")))
		Eventually(ctx, eventsOf(d)).ShouldNot(ContainElement(HavePrefix("Warning")))
	})

	It("can start at nothing", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(0))
		Expect(d).To(HaveCondition("Available", "False", corev1api.ReasonScaledToZero))
	})

	It("says that MongoDB is not supported, and leaves what runs alone", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.Database = corev1api.DatabaseMongo })
		eventuallyDegraded(ctx, d, corev1api.ReasonDatabaseNotSupported)
		Expect(d).To(HaveCondition("Available", "True", ""))
		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.Database = corev1api.DatabasePostgres })
		eventuallyReady(ctx, d)
	})

	It("says what refuses a child, and goes on when it no longer does", func(ctx context.Context) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
		}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, refetch(quota)).Should(HaveField("Status.Hard", Not(BeEmpty())))
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonChildRefused)
		Expect(message(d, "Degraded")).To(ContainSubstring("exceeded quota: none"))
		Expect(k8s.Delete(ctx, quota)).To(Succeed())
		eventuallyReady(ctx, d)
	})

	It("says what refuses the pods, and goes on when it no longer does", func(ctx context.Context) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
		}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, refetch(quota)).Should(HaveField("Status.Hard", Not(BeEmpty())))
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo", replicas(3))
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonPodsRefused)
		Expect(message(d, "Degraded")).To(ContainSubstring("exceeded quota: one"))
		Eventually(ctx, refetch(d)).Should(HaveCondition("Available", "True", ""), "one replica of three runs")
		Expect(d).To(HaveCondition("Ready", "False", corev1api.ReasonPodsRefused))
		Expect(k8s.Delete(ctx, quota)).To(Succeed())
		eventuallyReady(ctx, d)
	})

	It("gives up on pods that nobody takes after the progress deadline", func(ctx context.Context) {
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
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(WithTransform(func(d *corev1api.Dojo) string { return message(d, "Progressing") },
			ContainSubstring("no node takes it")))
		eventuallyDegraded(ctx, d, corev1api.ReasonUnschedulable)
		Expect(message(d, "Degraded")).To(ContainSubstring("with no progress for " + progressDeadline.String()))
		cordon(ctx, false)
		eventuallyReady(ctx, d)
	})

	It("tells of a broken image in the pod's own words, and recovers with a good one", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2))
		operator.Restart(ctx, "--dojo-image=registry.invalid/dojo:1")
		eventuallyDegraded(ctx, d, corev1api.ReasonImagePullBackOff)
		Expect(message(d, "Degraded")).To(And(ContainSubstring("registry.invalid/dojo:1"), ContainSubstring("2 of 2 replicas are ready")))
		Expect(d).To(HaveCondition("Available", "True", ""), "the old pods serve on")
		operator.Restart(ctx)
		eventuallyReady(ctx, d)
	})
})

var _ = Describe("The life of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("ends with all of its children", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2))
		children := []client.Object{deploymentOf(d), serviceOf(d), secretOf(d), budgetOf(d)}
		Expect(k8s.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		for _, child := range append(children, d) {
			Eventually(ctx, func(ctx context.Context) bool {
				return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(child), child))
			}).Should(BeTrue(), "the %T should go", child)
		}
		Eventually(ctx, runningPods(d)).Should(BeEmpty())
		Expect(k8s.Get(ctx, nameOf(ns, "pg-app"), &corev1.Secret{})).To(Succeed(), "the user's Secret is not ours to delete")
	})

	It("comes out the same when the operator is killed at any point", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		var dojos []*corev1api.Dojo
		for i := range 20 {
			d := newDojo(ns, fmt.Sprintf("tokyo-%d", i), replicas(2))
			Expect(k8s.Create(ctx, d)).To(Succeed())
			dojos = append(dojos, d)
			if i%4 == 3 { // the fourth has just appeared, the first may be finished
				operator.Kill(ctx)
				operator.Start(ctx)
			}
		}
		for _, d := range dojos {
			eventuallyReady(ctx, d)
		}
		for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}} {
			Expect(k8s.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			Expect(meta.LenList(list)).To(Equal(20))
		}
		expectAlike(ctx, dojos)

		By("passing on another password")
		rotated := newPassword()
		edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
			s.Data["password"] = []byte(rotated)
		})
		Eventually(ctx, func(ctx context.Context) (all []string, err error) {
			for _, d := range dojos {
				own, err := refetch(secretOf(d))(ctx)
				if err != nil {
					return nil, err
				}
				all = append(all, passwordOf(own))
			}
			return all, nil
		}).WithPolling(time.Millisecond).Should(ContainElement(rotated), "the first should have the new password")
		operator.Kill(ctx)
		operator.Start(ctx)
		for _, d := range dojos {
			Eventually(ctx, refetch(secretOf(d))).Should(WithTransform(passwordOf, Equal(rotated)))
			Eventually(ctx, revisions(d)).Should(And(HaveLen(1), Not(HaveKey(""))), "the pods should read the password that the Secret has")
			eventuallyReady(ctx, d)
		}
		expectAlike(ctx, dojos)
	})

	It("costs no write when the operator is started again", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2))
		operator.Stop()
		before := len(operator.Writes(ns))
		operator.Start(ctx)
		// A Dojo that is made now becomes ready when the operator works; it looks at the others at about the same time.
		other := newDojo(ns, "kyoto")
		Expect(k8s.Create(ctx, other)).To(Succeed())
		eventuallyReady(ctx, other)
		Consistently(func() []string { return operator.Writes(ns)[before:] }).ShouldNot(ContainElement(ContainSubstring("/" + d.Name)))
	})
})

// revisions are those of the credentials that the Dojo's Secret and its pods have.
func revisions(d *corev1api.Dojo) func(context.Context) (map[string]bool, error) {
	const annotation = "core.jutsu.com/credentials-revision"
	return func(ctx context.Context) (map[string]bool, error) {
		own, live := secretOf(d), deploymentOf(d)
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(own), own); err != nil {
			return nil, err
		}
		err := k8s.Get(ctx, client.ObjectKeyFromObject(live), live)
		return map[string]bool{own.Annotations[annotation]: true, live.Spec.Template.Annotations[annotation]: true}, err
	}
}

// expectAlike checks that Dojos with the same spec have the same children, but for their names and the revision of the credentials.
func expectAlike(ctx context.Context, dojos []*corev1api.Dojo) {
	GinkgoHelper()
	var first []string
	for _, d := range dojos {
		live, service, budget, own := deploymentOf(d), serviceOf(d), budgetOf(d), secretOf(d)
		for _, child := range []client.Object{live, service, budget, own} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		}
		live.Spec.Template.Annotations = nil
		service.Spec.ClusterIP, service.Spec.ClusterIPs = "", nil
		var all []string
		for _, part := range []any{live.Spec, live.Labels, service.Spec, service.Labels, budget.Spec, budget.Labels, own.Data, own.Labels} {
			text, err := json.Marshal(part)
			Expect(err).NotTo(HaveOccurred())
			all = append(all, strings.ReplaceAll(string(text), d.Name, "NAME"))
		}
		if first == nil {
			first = all
		}
		Expect(slices.Equal(all, first)).To(BeTrue(), "%s should be like %s", d.Name, dojos[0].Name)
	}
}

func isAvailable(d *corev1api.Dojo) bool {
	return meta.IsStatusConditionTrue(d.Status.Conditions, "Available")
}

func isProgressing(d *corev1api.Dojo) bool {
	return meta.IsStatusConditionTrue(d.Status.Conditions, "Progressing")
}

// watchStatus records every state of a Dojo from now on; the function that it returns ends that and returns them.
func watchStatus(ctx context.Context, d *corev1api.Dojo) func() []*corev1api.Dojo {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, &corev1api.DojoList{}, client.InNamespace(d.Namespace))
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
