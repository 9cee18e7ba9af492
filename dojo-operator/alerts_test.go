package main_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// Both operators together are shown by test/playground. Here the status of a DiscordChannel, which is all that dojo-operator knows of the other one, is
// written by the specs.

func inGroup(d *corev1api.Dojo) {
	d.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{GroupRef: &corev1api.DiscordReference{Name: "alarms"}}}
}

func inChannel(d *corev1api.Dojo) {
	d.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{ChannelRef: &corev1api.DiscordReference{Name: "all"}}}
}

func alarmsOf(d *corev1api.Dojo) *unstructured.Unstructured {
	return ofKind("DiscordChannel", d.Namespace, d.Name+"-alarms")
}

// sharedChannel creates a channel that belongs to somebody else.
func sharedChannel(ctx context.Context, namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	o := ofKind("DiscordChannel", namespace, "all")
	o.Object["spec"] = map[string]any{"groupRef": map[string]any{"name": "alarms"}, "name": "all"}
	Expect(k8s.Create(ctx, o)).To(Succeed())
	return o
}

// channelBecomes writes the status of a channel as discord-operator does.
func channelBecomes(ctx context.Context, o *unstructured.Unstructured, can conditions.Availability, outcome error, secret string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		var channel discordv1alpha1.DiscordChannel
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &channel); err != nil {
			return err
		}
		channel.Status.ChannelID, channel.Status.ChannelURL = "42", "https://discord.com/channels/1/42"
		if secret != "" {
			channel.Status.Webhook = &discordv1alpha1.WebhookStatus{ID: "7", SecretRef: &discordv1alpha1.LocalSecretReference{Name: secret}}
		}
		conditions.Set(&channel.Status.Conditions, channel.Generation, can, outcome)
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

var _ = Describe("The alarms of a Dojo in Discord", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("get a channel of their own, which the Dojo owns, and cost each write once", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(And(
			HaveCondition("AlertsReady", "False", corev1api.ReasonWaitingForChannel), HaveCondition("Available", "True", ""),
			HaveCondition("Progressing", "True", corev1api.ReasonWaitingForChannel)), "the application does not wait for its alarms")
		channel := alarmsOf(d)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(channel), channel)).To(Succeed())
		Expect(metav1.IsControlledBy(channel, d)).To(BeTrue())
		Expect(channel).To(haveField("spec.groupRef.name", "alarms"))
		Expect(channel).To(haveField("spec.name", "tokyo-alarms"))

		postable(ctx, channel, "tokyo-alarms-webhook")
		eventuallyReady(ctx, d)
		Expect(d).To(HaveCondition("AlertsReady", "True", corev1api.ReasonAlertsReady))
		Expect(d.Status.Alerts).To(HaveValue(Equal(corev1api.AlertsStatus{
			ChannelName: "tokyo-alarms", ChannelID: "42", ChannelURL: "https://discord.com/channels/1/42"})))
		routing := ofKind("AlertmanagerConfig", ns, "tokyo")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(routing), routing)).To(Succeed())
		Expect(webhookSecret(routing)).To(Equal(map[string]any{"name": "tokyo-alarms-webhook", "key": "url"}))
		Expect(metav1.IsControlledBy(routing, d)).To(BeTrue())

		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with alarms", writes)
		Expect(withoutStatus(writes)).To(ConsistOf("patch secrets/tokyo-credentials", "patch deployments/tokyo", "patch services/tokyo",
			"patch servicemonitors/tokyo", "patch prometheusrules/tokyo", "patch discordchannels/tokyo-alarms", "patch alertmanagerconfigs/tokyo"))
		edit(ctx, channel, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, int64(3), "spec", "position")).To(Succeed())
		})
		Consistently(func() []string { return withoutStatus(operator.Writes(ns)[len(writes):]) }).Should(BeEmpty(), "what others add is no reason to write")
	})

	It("go back when somebody edits them, move with the spec, and leave nothing behind", func(ctx context.Context) {
		d := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		Expect(k8s.Create(ctx, d)).To(Succeed())
		channel, routing := alarmsOf(d), ofKind("AlertmanagerConfig", ns, "tokyo")
		postable(ctx, channel, "own")
		eventuallyReady(ctx, d)

		edit(ctx, routing, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedSlice(o.Object, []any{}, "spec", "route", "matchers")).To(Succeed())
		})
		edit(ctx, channel, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "other", "spec", "name")).To(Succeed())
		})
		Eventually(ctx, refetch(routing)).Should(WithTransform(func(o *unstructured.Unstructured) any { return field(o, "spec.route.matchers") }, HaveLen(1)))
		Eventually(ctx, refetch(channel)).Should(haveField("spec.name", "tokyo-alarms"))
		postable(ctx, channel, "renewed")
		Eventually(ctx, refetch(routing)).Should(WithTransform(webhookSecret, HaveKeyWithValue("name", "renewed")))

		shared := sharedChannel(ctx, ns)
		edit(ctx, d, inChannel)
		eventuallyDegraded(ctx, d, corev1api.ReasonChannelWithoutWebhook)
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(channel), channel) }).ShouldNot(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(routing), routing)).To(Succeed())
		Expect(webhookSecret(routing)).To(HaveKeyWithValue("name", "renewed"), "until the other channel can be posted to, nothing is lost")
		edit(ctx, shared, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "Alertmanager", "spec", "webhook", "name")).To(Succeed())
		})
		postable(ctx, shared, "all-webhook")
		eventuallyReady(ctx, d)
		Eventually(ctx, refetch(routing)).Should(WithTransform(webhookSecret, HaveKeyWithValue("name", "all-webhook")))
		Expect(operator.Writes(ns)).NotTo(ContainElement(HaveSuffix("discordchannels/all")), "somebody else's channel is never written to")

		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.Alerts = nil })
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "AlertmanagerConfig"} {
			child := ofKind(kind, ns, "tokyo")
			Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(child), child) }).ShouldNot(Succeed(), kind)
		}
		Eventually(ctx, refetch(d)).Should(And(HaveField("Status.Alerts", BeNil()),
			WithTransform(func(d *corev1api.Dojo) any { return meta.FindStatusCondition(d.Status.Conditions, "AlertsReady") }, BeNil())))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(shared), shared)).To(Succeed())
	})

	It("say what keeps them from showing, and go on when it is mended", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		channel := alarmsOf(d)
		channelBecomes(ctx, channel, conditions.Unusable("NotCreated", "It is not on Discord yet."),
			&conditions.Terminal{Reason: "MissingPermission", Message: "The bot lacks ManageChannels."}, "")
		eventuallyDegraded(ctx, d, corev1api.ReasonChannelNotReady)
		Expect(message(d, "AlertsReady")).To(ContainSubstring("The bot lacks ManageChannels. See `kubectl describe discordchannel tokyo-alarms`"))
		Eventually(ctx, refetch(d)).Should(HaveCondition("Available", "True", ""), "the pods do not wait for the alarms")
		postable(ctx, channel, "hook")
		eventuallyReady(ctx, d)
		Expect(k8s.Delete(ctx, channel)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("AlertsReady", "False", corev1api.ReasonWaitingForChannel))
		postable(ctx, channel, "hook")
		eventuallyReady(ctx, d)
	})

	It("miss a channel that is not there, and find it when it is", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		edit(ctx, d, inChannel)
		Eventually(ctx, refetch(d)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForChannel))
		Eventually(ctx, refetch(d)).WithTimeout(progressDeadline + soon).Should(HaveCondition("Degraded", "True", corev1api.ReasonChannelNotFound))
		o := ofKind("DiscordChannel", ns, "all")
		o.Object["spec"] = map[string]any{"groupRef": map[string]any{"name": "alarms"}, "name": "all", "webhook": map[string]any{"name": "Alertmanager"}}
		Expect(k8s.Create(ctx, o)).To(Succeed())
		postable(ctx, o, "all-webhook")
		eventuallyReady(ctx, d)
	})

	It("never take a channel of that name from somebody else", func(ctx context.Context) {
		o := ofKind("DiscordChannel", ns, "tokyo-alarms")
		o.Object["spec"] = map[string]any{"groupRef": map[string]any{"name": "staff"}, "name": "theirs"}
		Expect(k8s.Create(ctx, o)).To(Succeed())
		d := runningDojo(ctx, ns)
		edit(ctx, d, inGroup)
		eventuallyDegraded(ctx, d, corev1api.ReasonNameTaken)
		Expect(message(d, "AlertsReady")).To(ContainSubstring("DiscordChannel " + ns + "/tokyo-alarms"))
		Expect(refetch(o)(ctx)).To(haveField("spec.name", "theirs"))
		edit(ctx, d, replicas(2))
		Eventually(ctx, refetch(d)).Should(HaveField("Status.ReadyReplicas", int32(2)), "what runs is still looked after")
		Expect(k8s.Delete(ctx, o)).To(Succeed())
		postable(ctx, o, "hook")
		eventuallyReady(ctx, d)
	})

	It("begin by themselves when discord-operator and prometheus-operator are there", func(ctx context.Context) {
		began := time.Now()
		uninstall(ctx, "discord.jutsu.com")
		uninstall(ctx, "monitoring.coreos.com")
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonDiscordOperatorNotInstalled)
		Eventually(ctx, refetch(d)).Should(HaveCondition("Available", "True", ""))
		installDefinitions("../deploy/discord-operator/crds")
		eventuallyDegraded(ctx, d, corev1api.ReasonPrometheusOperatorNotInstalled)
		postable(ctx, alarmsOf(d), "hook")
		Consistently(func() int { return operatorErrors(began, "monitoring.coreos.com") }).Should(BeNumerically("<=", 9))
		installOptional()
		eventuallyReady(ctx, d)
		Expect(d).To(HaveCondition("AlertsReady", "True", ""))
	})

	It("are missed when discord-operator or prometheus-operator goes while the application serves, and are made again", func(ctx context.Context) {
		d := newDojo(ns, "tokyo", inGroup)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		Expect(k8s.Create(ctx, d)).To(Succeed())
		postable(ctx, alarmsOf(d), "hook")
		eventuallyReady(ctx, d)
		for group, reason := range map[string]string{
			"discord.jutsu.com": corev1api.ReasonDiscordOperatorNotInstalled, "monitoring.coreos.com": corev1api.ReasonPrometheusOperatorNotInstalled,
		} {
			uninstall(ctx, group)
			eventuallyDegraded(ctx, d, reason)
			Expect(d).To(HaveCondition("Available", "True", ""))
			installOptional()
			postable(ctx, alarmsOf(d), "hook")
			eventuallyReady(ctx, d)
		}
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), ofKind("AlertmanagerConfig", ns, "tokyo"))).To(Succeed())
	})

	It("and a database of its own, in one manifest, cost each write once", func(ctx context.Context) {
		began := time.Now()
		d := newDojo(ns, "tokyo", withCluster(nightly), inGroup)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		postable(ctx, alarmsOf(d), "tokyo-alarms-webhook")
		eventuallyReady(ctx, d)
		AddReportEntry("settled after", time.Since(began))
		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with everything", writes)
		children := withoutStatus(writes)
		Expect(children).To(ContainElements("patch clusters/tokyo-db", "patch scheduledbackups/tokyo-db", "patch secrets/tokyo-db", "patch databaseroles/tokyo-db",
			"patch databases/tokyo-db", ContainSubstring("patch jobs/tokyo-schema-"), "patch secrets/tokyo-credentials", "patch deployments/tokyo", "patch services/tokyo",
			"patch servicemonitors/tokyo", "patch prometheusrules/tokyo", "patch discordchannels/tokyo-alarms", "patch alertmanagerconfigs/tokyo"))
		Expect(children).To(HaveLen(13), "each of them once")
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty(), "what is settled costs nothing")
	})
})
