// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func hooks(c *v1alpha1.DiscordChannel) []discordtest.Webhook {
	var all []discordtest.Webhook
	for _, hook := range discord.Guild(c.Status.ServerID).Webhooks {
		secrets.Add(hook.Token)
		if hook.ChannelID == c.Status.ChannelID {
			all = append(all, hook)
		}
	}
	return all
}

func (w *world) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
}

func (w *world) secretOf(name string) func(context.Context) (*corev1.Secret, error) {
	return refetch(w.secret(name))
}

func holdURLOf(hook discordtest.Webhook) OmegaMatcher {
	return HaveField("Data",
		HaveKeyWithValue("url", BeEquivalentTo(discord.URL()+"/api/webhooks/"+hook.ID+"/"+hook.Token)))
}

var _ = Describe("A webhook", func() {
	var (
		w *world
		c *v1alpha1.DiscordChannel
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		c = w.channel("", "alerts", withWebhook)
		// Create the channel after the server is Ready: a channel that waits long for its server gets
		// one more write of the status.
		ready(ctx, w.server())
		ready(ctx, c)
		w.expectIdle(ctx)
	})

	It("is created by one call, with its URL in a Secret that the DiscordChannel owns", func(ctx context.Context) {
		Expect(w.edits()).To(Equal([]string{postChannel, postWebhook}))
		Expect(w.writesTo("discordchannels", "alerts")).
			To(Equal([]string{"patch discordchannels/alerts", "patch discordchannels/alerts/status"}))
		Expect(w.writesTo("secrets", "alerts-webhook")).To(Equal([]string{"create secrets/alerts-webhook"}))
		hook := hooks(c)[0]
		Expect(hook.Name).To(Equal("alertmanager"))
		secret, err := w.secretOf("alerts-webhook")(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(secret).To(holdURLOf(hook))
		Expect(secret.OwnerReferences).
			To(ConsistOf(And(HaveField("Kind", "DiscordChannel"), HaveField("Name", "alerts"), HaveField("UID", c.UID),
				HaveField("Controller", HaveValue(BeTrue())))))
		Expect(c.Status.Webhook).To(HaveValue(Equal(v1alpha1.WebhookStatus{ID: hook.ID,
			SecretRef: &v1alpha1.LocalSecretReference{Name: "alerts-webhook"}})))
		Eventually(ctx, eventsOf(c)).Should(ConsistOf("Normal Created", "Normal WebhookCreated", "Normal Ready"))
		w.expectInSync(ctx, c)
	})

	It("stays the same after its Secret was deleted, and the Secret is created again", func(ctx context.Context) {
		hook, before := hooks(c)[0], len(w.edits())
		deleteObjects(ctx, w.secret("alerts-webhook"))
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(holdURLOf(hook))
		w.expectInSync(ctx, c)
		Expect(w.edits()).To(HaveLen(before))
		Expect(hooks(c)).To(ConsistOf(hook))
	})

	DescribeTable("has a Secret that the operator corrects "+
		"after a user", func(ctx context.Context, change func(*corev1.Secret)) {
		hook, before := hooks(c)[0], len(w.edits())
		secret, err := w.secretOf("alerts-webhook")(ctx)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, secret, change)
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(And(holdURLOf(hook),
			HaveField("Labels", HaveKeyWithValue("app.kubernetes.io/managed-by", "discord-operator")),
			HaveField("Annotations", HaveKeyWithValue("discord.jutsu.com/webhook-id", hook.ID))))
		w.expectInSync(ctx, c)
		Expect(w.edits()).To(HaveLen(before))
	},
		Entry("changes the URL", func(s *corev1.Secret) { s.Data["url"] = []byte("https://example.org") }),
		Entry("removes the URL", func(s *corev1.Secret) { delete(s.Data, "url") }),
		Entry("removes the labels", func(s *corev1.Secret) { s.Labels = nil }),
		Entry("removes the annotations", func(s *corev1.Secret) { s.Annotations = nil }),
	)

	It("keeps the keys and labels that other clients add to its Secret", func(ctx context.Context) {
		secret, err := w.secretOf("alerts-webhook")(ctx)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, secret, func(s *corev1.Secret) { s.Data["channel"], s.Labels["team"] = []byte("alerts"), "tokyo" })
		w.expectInSync(ctx, c)
		Expect(w.secretOf("alerts-webhook")(ctx)).
			To(And(HaveField("Data", HaveKey("channel")), HaveField("Labels", HaveKey("team")), holdURLOf(hooks(c)[0])))
	})

	It("is created again after a user deleted it, and its Secret gets the new URL", func(ctx context.Context) {
		old := hooks(c)[0]
		discord.DeleteWebhookByHand(old.ID)
		Eventually(func() []discordtest.Webhook { return hooks(c) }).Should(ConsistOf(HaveField("ID", Not(Equal(old.ID)))))
		hook := hooks(c)[0]
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(holdURLOf(hook))
		Eventually(ctx, refetch(c)).Should(HaveField("Status.Webhook.ID", hook.ID))
		Eventually(ctx, eventsOf(c)).Should(ContainElement("Normal DriftCorrected"))
		w.expectInSync(ctx, c)
		Expect(w.bodies(postWebhook)).To(HaveLen(2))
	})

	It("stays the same webhook when the spec renames it", func(ctx context.Context) {
		hook := hooks(c)[0]
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook.Name = "Prometheus" }))
		eventuallyReady(ctx, c)
		Expect(w.bodies(patchWebhook)).To(Equal([]map[string]any{{"name": "Prometheus"}}))
		Expect(hooks(c)).
			To(ConsistOf(And(HaveField("ID", hook.ID), HaveField("Name", "Prometheus"), HaveField("Token", hook.Token))))
		w.expectInSync(ctx, c)
		Expect(w.bodies(postWebhook)).To(HaveLen(1))
	})

	It("gets a new Secret with its URL, and loses the old Secret, "+
		"when the spec renames the Secret", func(ctx context.Context) {
		hook := hooks(c)[0]
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook.SecretName = "elsewhere" }))
		eventuallyReady(ctx, c)
		Expect(w.secretOf("elsewhere")(ctx)).To(holdURLOf(hook))
		Expect(c.Status.Webhook.SecretRef.Name).To(Equal("elsewhere"))
		eventuallyCollected(ctx, w.secret("alerts-webhook"))
		w.expectInSync(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, postWebhook}))
	})

	It("is deleted with its Secret when it leaves the spec, and other webhooks stay", func(ctx context.Context) {
		unowned := discord.CreateWebhookByHand(c.Status.ChannelID, "alertmanager")
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook = nil }))
		eventuallyReady(ctx, c)
		eventuallyCollected(ctx, w.secret("alerts-webhook"))
		Expect(hooks(c)).To(ConsistOf(HaveField("ID", unowned.ID)))
		Expect(c.Status.Webhook).To(BeNil())
		w.expectInSync(ctx, c)

		By("adding it again")
		edit(ctx, c, withWebhook)
		eventuallyReady(ctx, c)
		Expect(hooks(c)).To(HaveLen(2))
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[1]))
	})

	It("is created again with its channel after a user deletes the channel on Discord", func(ctx context.Context) {
		before := c.Status
		discord.DeleteChannelByHand(before.ChannelID)
		Eventually(ctx, refetch(c)).Should(And(HaveField("Status.ChannelID", Not(Equal(before.ChannelID))),
			HaveField("Status.Webhook.ID", Not(Equal(before.Webhook.ID)))))
		eventuallyReady(ctx, c)
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
		w.expectInSync(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, postWebhook, postChannel, postWebhook}))
	})

	DescribeTable("waits until the name of its Secret is free, and does not adopt a Secret",
		func(ctx context.Context, owner []metav1.OwnerReference) {
			foreign := w.secret("foreign")
			foreign.OwnerReferences, foreign.StringData = owner, map[string]string{"url": "mine"}
			create(ctx, foreign)
			edits := len(w.edits())
			late := w.channel("", "late", withWebhook, with(func(s *channelSpec) { s.Webhook.SecretName = "foreign" }))
			create(ctx, late)
			Expect(eventuallyDegraded(ctx, late, "NameConflict")).To(ContainSubstring("Secret foreign"))
			Expect(late).To(HaveCondition("Available", "True", "OnDiscord"))
			Expect(w.edits()[edits:]).To(Equal([]string{postChannel}), "a webhook whose URL could not be stored is not created")
			Expect(w.secretOf("foreign")(ctx)).To(HaveField("Data", Equal(map[string][]byte{"url": []byte("mine")})))
			deleteObjects(ctx, foreign)
			eventuallyReady(ctx, late)
			Expect(w.secretOf("foreign")(ctx)).To(holdURLOf(hooks(late)[0]))
		},
		Entry("without an owner", nil),
		Entry("of another controller", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "other",
			UID: "1", Controller: new(true)}}),
	)

	It("does not adopt a Secret that another client creates at the same moment", func(ctx context.Context) {
		answer, late := make(chan struct{}), w.channel("", "late", withWebhook)
		w.fault(discordtest.Fault{Route: postWebhook, Times: 1, Action: discordtest.Hold(answer)})
		create(ctx, late)
		Eventually(func() []discordtest.Webhook { return discord.Guild(w.guild).Webhooks }).Should(HaveLen(2))
		foreign := w.secret("late-webhook")
		foreign.StringData = map[string]string{"url": "mine"}
		create(ctx, foreign)
		close(answer)
		eventuallyDegraded(ctx, late, "NameConflict")
		Expect(w.secretOf("late-webhook")(ctx)).To(And(HaveField("OwnerReferences", BeEmpty()),
			HaveField("Data", Equal(map[string][]byte{"url": []byte("mine")}))))
		deleteObjects(ctx, foreign)
		eventuallyReady(ctx, late)
		Expect(hooks(late)).To(ConsistOf(HaveField("ID", late.Status.Webhook.ID)), "the first webhook should be the only one")
	})

	It("can use the name of a Secret that another channel no longer uses", func(ctx context.Context) {
		late := w.channel("", "late", withWebhook, with(func(s *channelSpec) { s.Webhook.SecretName = "alerts-webhook" }))
		create(ctx, late)
		eventuallyDegraded(ctx, late, "NameConflict")
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook.SecretName = "elsewhere" }))
		eventuallyReady(ctx, c)
		eventuallyCollected(ctx, w.secret("alerts-webhook"))
		eventuallyReady(ctx, late)
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(late)[0]))
	})
})
