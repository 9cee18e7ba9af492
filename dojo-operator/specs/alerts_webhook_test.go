// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
)

// A tenant may edit discord-operator's Secret. discord-operator does not run here, so nothing
// reverts the edit, like in production while the DiscordChannel is paused.
var _ = Describe("The URL to which Alertmanager posts the alerts of a Dojo", func() {
	const hostile = "https://attacker.example.com/api/webhooks/1401681709430341999/a"
	const hook, other = "tokyo-alerts-webhook", "https://discord.com/api/v10/webhooks/1401681709430342000/b"
	var ns string
	var dojo *corev1api.Dojo
	var posts, channels *corev1.Secret // Alertmanager reads posts, discord-operator writes channels
	var routing *unstructured.Unstructured

	alerted := func(ctx context.Context, change ...func(*corev1api.Dojo)) {
		GinkgoHelper()
		dojo = newDojo(ns, "tokyo", append(change, inGroup)...)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		postable(ctx, alertsChannelOf(dojo), hook)
		eventuallyReady(ctx, dojo)
	}
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		secrets.Add(hostile)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		posts = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo-alertmanager"}}
		channels = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: hook}}
		routing = ofKind("AlertmanagerConfig", ns, "tokyo")
	})
	holds := func(url string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Data = map[string][]byte{discordv1alpha1.WebhookSecretKey: []byte(url)} }
	}
	pause := func(dojo *corev1api.Dojo) {
		dojo.Annotations = map[string]string{corev1api.PausedAnnotation: "true"}
	}
	putBack := func(ctx context.Context) {
		GinkgoHelper()
		edit(ctx, posts, holds(hostile))
		Eventually(ctx, refetch(posts)).Should(haveURL(hookURL(hook)))
		Expect(refetch(routing)(ctx)).To(WithTransform(webhookSecret, HaveKeyWithValue("name", "tokyo-alertmanager")))
	}
	disconnected := func(ctx context.Context) {
		GinkgoHelper()
		eventuallyGone(ctx, routing, "Alertmanager must not read the tenant's URL")
	}

	It("is copied from discord-operator's Secret "+
		"only if the Secret has the URL of a Discord webhook", func(ctx context.Context) {
		alerted(ctx)
		Expect(refetch(posts)(ctx)).To(haveURL(hookURL(hook)))
		Expect(metav1.IsControlledBy(posts, dojo)).To(BeTrue())
		edit(ctx, channels, holds(other))
		Eventually(ctx, refetch(posts)).Should(haveURL(other))
		eventuallyReady(ctx, dojo)

		for _, url := range []string{hostile, "https://discord.com@attacker.example.com/api/webhooks/7/a",
			"https://discord.com/api/webhooks/7/../../../../x", "https://discord.com/api/webhooks/7/a?x", ""} {
			edit(ctx, channels, holds(url))
			eventuallyDegraded(ctx, dojo, corev1api.ReasonWebhookInvalid)
			Expect(message(dojo, "AlertsReady")).To(And(ContainSubstring("Secret "+ns+"/"+hook),
				Not(ContainSubstring("attacker")), Not(ContainSubstring("/webhooks/"))))
			Expect(refetch(posts)(ctx)).To(haveURL(other), "the last valid URL stays")
			edit(ctx, channels, holds(other))
			eventuallyReady(ctx, dojo)
		}
		Expect(k8s.Delete(ctx, channels)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonWebhookInvalid)
		webhookWritten(ctx, alertsChannelFetched(ctx, dojo), hook)
		Eventually(ctx, refetch(posts)).Should(haveURL(hookURL(hook)))
		eventuallyReady(ctx, dojo)
	})

	It("is restored after a tenant's edit, even if the edit names the operator's field manager", func(ctx context.Context) {
		alerted(ctx)
		putBack(ctx)
		eventuallyReady(ctx, dojo)
		patch := []byte(`{"stringData":{"url":"` + hostile + `"}}`)
		Expect(k8s.Patch(ctx, posts, client.RawPatch(apitypes.MergePatchType, patch), client.FieldOwner("dojo-operator"))).
			To(Succeed())
		Eventually(ctx, refetch(posts)).Should(haveURL(hookURL(hook)), "the field manager of the edit does not matter")
	})

	It("is restored while the Dojo is paused", func(ctx context.Context) {
		alerted(ctx)
		edit(ctx, dojo, pause)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition(corev1api.ConditionPaused, "True", ""))
		putBack(ctx)
		edit(ctx, channels, holds(other))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonPaused))
		Expect(refetch(posts)(ctx)).To(haveURL(hookURL(hook)), "a paused Dojo does not follow the channel's new URL")
		edit(ctx, channels, holds(hostile))
		edit(ctx, posts, holds(hostile))
		disconnected(ctx)
	})

	It("is restored while the Dojo is Degraded because of a name conflict", func(ctx context.Context) {
		alerted(ctx)
		edit(ctx, secretOf(dojo), func(s *corev1.Secret) { s.OwnerReferences = nil })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		putBack(ctx)
	})

	It("is restored while a paused Dojo waits to be deleted with its data", func(ctx context.Context) {
		pg := existingCluster(ctx, ns, "pg")
		Eventually(ctx, refetch(pg)).Should(haveField("status.readyInstances", Equal(int64(2))))
		alerted(ctx, inCluster, withPolicy(corev1api.ReclaimDelete))
		edit(ctx, dojo, pause) // the deletion of a paused Dojo waits
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonPaused)
		putBack(ctx)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Annotations = nil })
		eventuallyGone(ctx, dojo)
	})

	It("is restored while a tenant's finalizer holds the deleted Dojo", func(ctx context.Context) {
		alerted(ctx, func(dojo *corev1api.Dojo) { dojo.Finalizers = []string{"example.org/hold"} })
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		putBack(ctx)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Finalizers = nil })
		eventuallyGone(ctx, dojo)
	})

	It("is no longer read from its Secret after a tenant removes the owner reference", func(ctx context.Context) {
		alerted(ctx)
		edit(ctx, posts, func(s *corev1.Secret) { holds(hostile)(s); s.OwnerReferences = nil })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(message(dojo, "AlertsReady")).To(ContainSubstring("Secret " + ns + "/tokyo-alertmanager"))
		disconnected(ctx)
		Expect(refetch(posts)(ctx)).To(haveURL(hostile), "the operator must not write a Secret that the Dojo does not own")
		edit(ctx, dojo, replicas(2))
		Eventually(ctx, refetch(dojo)).
			Should(HaveField("Status.ReadyReplicas", int32(2)), "the Deployment is still reconciled")
		Expect(k8s.Delete(ctx, posts)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(refetch(posts)(ctx)).To(haveURL(hookURL(hook)))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(routing), routing)).To(Succeed())
	})

	It("is no longer read from its Secret after a tenant makes the Secret immutable", func(ctx context.Context) {
		alerted(ctx)
		edit(ctx, posts, func(s *corev1.Secret) {
			holds(hostile)(s)
			s.Immutable, s.Finalizers = new(true), []string{"example.org/hold"}
		})
		disconnected(ctx)
		eventuallyDeleting := func(s *corev1.Secret) bool { return s.DeletionTimestamp != nil }
		Eventually(ctx, refetch(posts)).Should(WithTransform(eventuallyDeleting, BeTrue()))
		Consistently(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(routing), routing)
		}).ShouldNot(Succeed(), "while a finalizer holds the Secret, no AlertmanagerConfig names it")
		edit(ctx, posts, func(s *corev1.Secret) { s.Finalizers = nil })
		eventuallyReady(ctx, dojo)
		Eventually(ctx, refetch(posts)).Should(haveURL(hookURL(hook)))
	})
})

func alertsChannelFetched(ctx context.Context, dojo *corev1api.Dojo) *unstructured.Unstructured {
	GinkgoHelper()
	channel, err := refetch(alertsChannelOf(dojo))(ctx)
	Expect(err).NotTo(HaveOccurred())
	return channel
}
