// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// discord-operator does not run here: the specs write the status of a DiscordChannel instead.

func inGroup(dojo *corev1api.Dojo) {
	dojo.Spec.Alerts = &corev1api.Alerts{
		Discord: &corev1api.DiscordAlerts{GroupRef: &corev1api.DiscordGroupReference{Name: "alerts"}},
	}
}

func inChannel(dojo *corev1api.Dojo) {
	dojo.Spec.Alerts = &corev1api.Alerts{
		Discord: &corev1api.DiscordAlerts{ChannelRef: &corev1api.DiscordReference{Name: "all"}},
	}
}

func alertsChannelOf(dojo *corev1api.Dojo) *unstructured.Unstructured {
	return ofKind("DiscordChannel", dojo.Namespace, dojo.Name+"-alerts")
}

func sharedChannel(ctx context.Context, namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	o := ofKind("DiscordChannel", namespace, "all")
	o.Object["spec"] = map[string]any{"groupRef": map[string]any{"name": "alerts"}, "name": "all"}
	Expect(k8s.Create(ctx, o)).To(Succeed())
	return o
}

func hookURL(secret string) string {
	return secrets.Add("https://discord.com/api/webhooks/1401681709430341999/" + secret)
}

func webhookWritten(ctx context.Context, channel *unstructured.Unstructured, name string) {
	GinkgoHelper()
	owner := metav1.NewControllerRef(channel, discordv1alpha1.GroupVersion.WithKind("DiscordChannel"))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: channel.GetNamespace(), Name: name,
			OwnerReferences: []metav1.OwnerReference{*owner}},
		StringData: map[string]string{discordv1alpha1.WebhookSecretKey: hookURL(name)},
	}
	Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, secret))).To(Succeed())
}

func alertmanagerSecretOf(dojo *corev1api.Dojo) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name + "-alertmanager"}}
}

func haveURL(url string) types.GomegaMatcher {
	return HaveField("Data", HaveKeyWithValue(discordv1alpha1.WebhookSecretKey, []byte(url)))
}

func channelBecomes(ctx context.Context, o *unstructured.Unstructured, can conditions.Availability,
	issue *conditions.Issue, secret string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if secret != "" {
			webhookWritten(ctx, o, secret)
		}
		var channel discordv1alpha1.DiscordChannel
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &channel); err != nil {
			return err
		}
		channel.Status.ChannelID, channel.Status.ChannelURL = "42", "https://discord.com/channels/1/42"
		if secret != "" {
			channel.Status.Webhook = &discordv1alpha1.WebhookStatus{
				ID: "7", SecretRef: &discordv1alpha1.LocalSecretReference{Name: secret},
			}
		}
		conditions.Set(&channel.Status.Conditions, channel.Generation, can, issue)
		status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&channel)
		if err != nil {
			return err
		}
		o.Object["status"] = status["status"]
		return k8s.Status().Update(ctx, o)
	}).Should(Succeed())
}

func postable(ctx context.Context, o *unstructured.Unstructured, secret string) {
	GinkgoHelper()
	channelBecomes(ctx, o, conditions.Usable("ChannelReady", "It is on Discord."), nil, secret)
}

func webhookSecret(o *unstructured.Unstructured) any {
	GinkgoHelper()
	receivers, _, err := unstructured.NestedSlice(o.Object, "spec", "receivers")
	Expect(err).NotTo(HaveOccurred())
	Expect(receivers).To(HaveLen(1))
	discord := receivers[0].(map[string]any)["discordConfigs"].([]any)
	Expect(discord).To(HaveLen(1))
	return discord[0].(map[string]any)["apiURL"]
}

var _ = Describe("A Dojo's alerts on Discord", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("get a DiscordChannel that the Dojo owns, and the operator writes each object once", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(And(
			HaveCondition("AlertsReady", "False", corev1api.ReasonWaitingForChannel), HaveCondition("Available", "True", ""),
			HaveCondition("Progressing", "True", corev1api.ReasonWaitingForChannel)),
			"the application does not wait for its alerts")
		channel := alertsChannelOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(channel), channel)).To(Succeed())
		Expect(metav1.IsControlledBy(channel, dojo)).To(BeTrue())
		Expect(channel).To(haveField("spec.groupRef.name", "alerts"))
		Expect(channel).To(haveField("spec.name", "tokyo-alerts"))

		postable(ctx, channel, "tokyo-alerts-webhook")
		eventuallyReady(ctx, dojo)
		Expect(dojo).To(HaveCondition("AlertsReady", "True", corev1api.ReasonAlertsReady))
		Expect(dojo.Status.Alerts).To(HaveValue(Equal(corev1api.AlertsStatus{
			ChannelName: "tokyo-alerts", ChannelID: "42", ChannelURL: "https://discord.com/channels/1/42"})))
		routing := ofKind("AlertmanagerConfig", ns, "tokyo")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(routing), routing)).To(Succeed())
		Expect(webhookSecret(routing)).To(Equal(map[string]any{"name": "tokyo-alertmanager", "key": "url"}))
		Expect(refetch(alertmanagerSecretOf(dojo))(ctx)).To(haveURL(hookURL("tokyo-alerts-webhook")))
		Expect(metav1.IsControlledBy(routing, dojo)).To(BeTrue())

		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with alerts", writes)
		Expect(withoutStatus(writes)).To(ConsistOf(
			"create secrets/tokyo-credentials", "create deployments/tokyo", "create services/tokyo",
			"create servicemonitors/tokyo", "create prometheusrules/tokyo", "create discordchannels/tokyo-alerts",
			"create secrets/tokyo-alertmanager", "create alertmanagerconfigs/tokyo"))
		edit(ctx, channel, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, int64(3), "spec", "position")).To(Succeed())
		})
		Consistently(func() []string { return withoutStatus(operator.Writes(ns)[len(writes):]) }).
			Should(BeEmpty(), "fields of other clients should not cause a write")
	})

	It("mention a role while spec.alerts.discord.mentions lists the role", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", inGroup, func(dojo *corev1api.Dojo) {
			dojo.Spec.Alerts.Discord.Mentions = []corev1api.AlertMention{{RoleID: "1401681709430341704"}}
		})
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		postable(ctx, alertsChannelOf(dojo), "own")
		eventuallyReady(ctx, dojo)
		routing := ofKind("AlertmanagerConfig", ns, "tokyo")
		content := func() any {
			receivers, _, err := unstructured.NestedSlice(routing.Object, "spec", "receivers")
			Expect(err).NotTo(HaveOccurred())
			return receivers[0].(map[string]any)["discordConfigs"].([]any)[0].(map[string]any)["content"]
		}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(routing), routing)).To(Succeed())
		Expect(content()).To(And(ContainSubstring("<@&1401681709430341704>"), ContainSubstring(" (critical) ")))

		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Alerts.Discord.Mentions = nil })
		Eventually(ctx, refetch(routing)).Should(WithTransform(func(*unstructured.Unstructured) any { return content() }, BeNil()))
	})

	It("have objects that follow the spec, are restored after another client's edit, "+
		"and are deleted when spec.alerts is removed", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		channel, routing := alertsChannelOf(dojo), ofKind("AlertmanagerConfig", ns, "tokyo")
		postable(ctx, channel, "own")
		eventuallyReady(ctx, dojo)

		edit(ctx, routing, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedSlice(o.Object, []any{}, "spec", "route", "matchers")).To(Succeed())
		})
		edit(ctx, channel, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "other", "spec", "name")).To(Succeed())
		})
		Eventually(ctx, refetch(routing)).
			Should(haveField("spec.route.matchers", HaveLen(2)))
		Eventually(ctx, refetch(channel)).Should(haveField("spec.name", "tokyo-alerts"))
		postable(ctx, channel, "renewed")
		posts := alertmanagerSecretOf(dojo)
		Eventually(ctx, refetch(posts)).Should(haveURL(hookURL("renewed")))

		shared := sharedChannel(ctx, ns)
		edit(ctx, dojo, inChannel)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonChannelWithoutWebhook)
		Consistently(ctx, refetch(channel)).Should(Not(BeNil()), "Discord would delete the messages of a deleted channel")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(routing), routing)).To(Succeed())
		Expect(refetch(posts)(ctx)).
			To(haveURL(hookURL("renewed")), "the former channel gets the alerts until the other channel has a webhook")
		edit(ctx, shared, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "Alertmanager", "spec", "webhook", "name")).To(Succeed())
		})
		postable(ctx, shared, "all-webhook")
		eventuallyReady(ctx, dojo)
		Eventually(ctx, refetch(posts)).Should(haveURL(hookURL("all-webhook")))
		eventuallyGone(ctx, channel, "the alerts go to the other channel now")
		Expect(operator.Writes(ns)).
			NotTo(ContainElement(HaveSuffix("discordchannels/all")), "a channel that the Dojo does not own is never written to")

		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Alerts = nil })
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "AlertmanagerConfig"} {
			child := ofKind(kind, ns, "tokyo")
			eventuallyGone(ctx, child, kind)
		}
		eventuallyGone(ctx, posts, "the garbage collector should delete the Secret")
		Eventually(ctx, refetch(dojo)).Should(And(HaveField("Status.Alerts", BeNil()),
			WithTransform(func(dojo *corev1api.Dojo) any {
				return meta.FindStatusCondition(dojo.Status.Conditions, "AlertsReady")
			}, BeNil())))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(shared), shared)).To(Succeed())
	})

	It("make the Dojo Degraded, with the error of the DiscordChannel, "+
		"until the channel is ready", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		channel := alertsChannelOf(dojo)
		channelBecomes(ctx, channel, conditions.Unusable("NotCreated", "It is not on Discord yet."),
			conditions.Degraded("MissingPermission", "The bot lacks ManageChannels."), "")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonChannelNotReady)
		Expect(message(dojo, "AlertsReady")).
			To(ContainSubstring("(MissingPermission): The bot lacks ManageChannels. " +
				"See `kubectl describe discordchannels.discord.jutsu.com tokyo-alerts -n " + ns + "`"))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", ""), "the pods do not wait for the alerts")
		postable(ctx, channel, "hook")
		eventuallyReady(ctx, dojo)
		Expect(k8s.Delete(ctx, channel)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("AlertsReady", "False", corev1api.ReasonWaitingForChannel))
		postable(ctx, channel, "hook")
		eventuallyReady(ctx, dojo)
	})

	It("make the Dojo Degraded if the channel of channelRef is still missing "+
		"after the deadline", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		edit(ctx, dojo, inChannel)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForChannel))
		Eventually(ctx, refetch(dojo)).WithTimeout(progressDeadline + soon).
			Should(HaveCondition("Degraded", "True", corev1api.ReasonChannelNotFound))
		o := ofKind("DiscordChannel", ns, "all")
		o.Object["spec"] = map[string]any{
			"groupRef": map[string]any{"name": "alerts"}, "name": "all", "webhook": map[string]any{"name": "Alertmanager"},
		}
		Expect(k8s.Create(ctx, o)).To(Succeed())
		postable(ctx, o, "all-webhook")
		eventuallyReady(ctx, dojo)
	})

	It("make the Dojo Degraded if another client created a DiscordChannel of the expected name, "+
		"and leave that channel unchanged", func(ctx context.Context) {
		o := ofKind("DiscordChannel", ns, "tokyo-alerts")
		o.Object["spec"] = map[string]any{"groupRef": map[string]any{"name": "staff"}, "name": "theirs"}
		Expect(k8s.Create(ctx, o)).To(Succeed())
		dojo := runningDojo(ctx, ns)
		edit(ctx, dojo, inGroup)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(message(dojo, "AlertsReady")).To(ContainSubstring("DiscordChannel " + ns + "/tokyo-alerts"))
		Expect(refetch(o)(ctx)).To(haveField("spec.name", "theirs"))
		edit(ctx, dojo, replicas(2))
		Eventually(ctx, refetch(dojo)).
			Should(HaveField("Status.ReadyReplicas", int32(2)), "the Deployment is still reconciled")
		Expect(k8s.Delete(ctx, o)).To(Succeed())
		postable(ctx, o, "hook")
		eventuallyReady(ctx, dojo)
	})

	It("become ready automatically "+
		"after discord-operator and prometheus-operator are installed", func(ctx context.Context) {
		began := time.Now()
		uninstall(ctx, "discord.jutsu.com")
		uninstall(ctx, "monitoring.coreos.com")
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonDiscordOperatorNotInstalled)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", ""))
		install(ctx, "discord.jutsu.com")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonPrometheusOperatorNotInstalled)
		postable(ctx, alertsChannelOf(dojo), "hook")
		Consistently(func() int { return operatorErrors(began, "monitoring.coreos.com") }).Should(BeNumerically("<=", 9))
		installOptional(ctx)
		eventuallyReady(ctx, dojo)
		Expect(dojo).To(HaveCondition("AlertsReady", "True", ""))
	})

	It("make the Dojo Degraded, while its pods serve, "+
		"after discord-operator or prometheus-operator is uninstalled", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		postable(ctx, alertsChannelOf(dojo), "hook")
		eventuallyReady(ctx, dojo)
		for group, reason := range map[string]string{
			"discord.jutsu.com":     corev1api.ReasonDiscordOperatorNotInstalled,
			"monitoring.coreos.com": corev1api.ReasonPrometheusOperatorNotInstalled,
		} {
			uninstall(ctx, group)
			eventuallyDegraded(ctx, dojo, reason)
			Expect(dojo).To(HaveCondition("Available", "True", ""))
			installOptional(ctx)
			postable(ctx, alertsChannelOf(dojo), "hook")
			eventuallyReady(ctx, dojo)
		}
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), ofKind("AlertmanagerConfig", ns, "tokyo"))).To(Succeed())
	})

	It("cause no repeated write when the Dojo also has a database", func(ctx context.Context) {
		began := time.Now()
		dojo := newDojo(ns, "tokyo", withCluster(nightly), inGroup)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		postable(ctx, alertsChannelOf(dojo), "tokyo-alerts-webhook")
		eventuallyReady(ctx, dojo)
		AddReportEntry("Ready after", time.Since(began))
		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with everything", writes)
		children := withoutStatus(writes)
		Expect(children).To(ContainElements(
			"create clusters/tokyo-db", "create scheduledbackups/tokyo-db", "create secrets/tokyo-db",
			"create databaseroles/tokyo-db",
			"create databases/tokyo-db", "patch databases/tokyo-db", ContainSubstring("create jobs/tokyo-schema-"),
			"create secrets/tokyo-credentials", "create deployments/tokyo", "create services/tokyo",
			"create servicemonitors/tokyo", "create prometheusrules/tokyo", "create discordchannels/tokyo-alerts",
			"create secrets/tokyo-alertmanager", "create alertmanagerconfigs/tokyo"))
		Expect(children).To(HaveLen(15), "each of them once")
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).
			Should(BeEmpty(), "a reconciled Dojo should cause no write")
	})
})
