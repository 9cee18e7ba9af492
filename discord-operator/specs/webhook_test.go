package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/discordtest"
)

// hooks are the webhooks of a channel on Discord.
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

// secretOf reads a Secret of the world, for Eventually and Consistently.
func (w *world) secretOf(name string) func(context.Context) (*corev1.Secret, error) {
	return refetch(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}})
}

// holdURLOf matches a Secret with the URL of a webhook.
func holdURLOf(hook discordtest.Webhook) OmegaMatcher {
	return HaveField("Data", HaveKeyWithValue("url", BeEquivalentTo(discord.URL()+"/api/webhooks/"+hook.ID+"/"+hook.Token)))
}

var _ = Describe("A webhook", func() {
	var (
		w *world
		c *v1alpha1.DiscordChannel
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		c = w.channel("", "alerts", withWebhook)
		ready(ctx, w.server(), c)
		w.expectRest(ctx)
	})

	It("costs one call and one Secret, which holds its URL and belongs to the channel", func(ctx context.Context) {
		Expect(w.edits()).To(Equal([]string{postChannel, postWebhook}))
		Expect(w.writesTo("discordchannels", "alerts")).To(Equal([]string{"patch discordchannels/alerts", "patch discordchannels/alerts/status"}))
		Expect(w.writesTo("secrets", "alerts-webhook")).To(Equal([]string{"create secrets/alerts-webhook"}))
		hook := hooks(c)[0]
		Expect(hook.Name).To(Equal("alertmanager"))
		secret, err := w.secretOf("alerts-webhook")(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(secret).To(holdURLOf(hook))
		Expect(secret.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "DiscordChannel"), HaveField("Name", "alerts"), HaveField("UID", c.UID),
			HaveField("Controller", HaveValue(BeTrue())))))
		Expect(c.Status.Webhook).To(HaveValue(Equal(v1alpha1.WebhookStatus{ID: hook.ID, SecretRef: &v1alpha1.LocalSecretReference{Name: "alerts-webhook"}})))
		Expect(eventsOf(c)(ctx)).To(ConsistOf("Normal Created", "Normal WebhookCreated", "Normal Ready"))
		w.expectSettled(ctx, c)
	})

	It("whose Secret is deleted is the same one, and the Secret comes back", func(ctx context.Context) {
		hook, before := hooks(c)[0], len(w.edits())
		Expect(k8s.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "alerts-webhook"}})).To(Succeed())
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(holdURLOf(hook))
		w.expectSettled(ctx, c)
		Expect(w.edits()).To(HaveLen(before))
		Expect(hooks(c)).To(ConsistOf(hook))
	})

	DescribeTable("whose Secret somebody edits gets it put right", func(ctx context.Context, change func(*corev1.Secret)) {
		hook, before := hooks(c)[0], len(w.edits())
		secret, err := w.secretOf("alerts-webhook")(ctx)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, secret, change)
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(And(holdURLOf(hook),
			HaveField("Labels", HaveKeyWithValue("app.kubernetes.io/managed-by", "discord-operator")),
			HaveField("Annotations", HaveKeyWithValue("discord.jutsu.com/webhook-id", hook.ID))))
		w.expectSettled(ctx, c)
		Expect(w.edits()).To(HaveLen(before))
	},
		Entry("another URL", func(s *corev1.Secret) { s.Data["url"] = []byte("https://example.org") }),
		Entry("no URL", func(s *corev1.Secret) { delete(s.Data, "url") }),
		Entry("no labels", func(s *corev1.Secret) { s.Labels = nil }),
		Entry("no annotations", func(s *corev1.Secret) { s.Annotations = nil }),
	)

	It("keeps what others add to its Secret", func(ctx context.Context) {
		secret, err := w.secretOf("alerts-webhook")(ctx)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, secret, func(s *corev1.Secret) { s.Data["channel"], s.Labels["team"] = []byte("alerts"), "tokyo" })
		w.expectSettled(ctx, c)
		Expect(w.secretOf("alerts-webhook")(ctx)).To(And(HaveField("Data", HaveKey("channel")), HaveField("Labels", HaveKey("team")), holdURLOf(hooks(c)[0])))
	})

	It("that somebody deletes on Discord is made anew, and the Secret follows", func(ctx context.Context) {
		old := hooks(c)[0]
		discord.DeleteWebhookByHand(old.ID)
		Eventually(func() []discordtest.Webhook { return hooks(c) }).Should(ConsistOf(HaveField("ID", Not(Equal(old.ID)))))
		hook := hooks(c)[0]
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(holdURLOf(hook))
		Eventually(ctx, refetch(c)).Should(HaveField("Status.Webhook.ID", hook.ID))
		Eventually(ctx, eventsOf(c)).Should(ContainElement("Normal DriftCorrected"))
		w.expectSettled(ctx, c)
		Expect(w.bodies(postWebhook)).To(HaveLen(2))
	})

	It("is renamed, by the spec and back after people, and stays the same one", func(ctx context.Context) {
		hook := hooks(c)[0]
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook.Name = "Prometheus" }))
		eventuallyReady(ctx, c)
		Expect(w.bodies(patchWebhook)).To(Equal([]map[string]any{{"name": "Prometheus"}}))
		Expect(hooks(c)).To(ConsistOf(And(HaveField("ID", hook.ID), HaveField("Name", "Prometheus"), HaveField("Token", hook.Token))))
		w.expectSettled(ctx, c)
		Expect(w.bodies(postWebhook)).To(HaveLen(1))
	})

	It("is moved to another Secret, and the old one goes", func(ctx context.Context) {
		hook := hooks(c)[0]
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook.SecretName = "elsewhere" }))
		eventuallyReady(ctx, c)
		Expect(w.secretOf("elsewhere")(ctx)).To(holdURLOf(hook))
		Expect(c.Status.Webhook.SecretRef.Name).To(Equal("elsewhere"))
		eventuallyGone(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "alerts-webhook"}})
		w.expectSettled(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, postWebhook}))
	})

	It("goes with its Secret when the spec asks for it no more, and others stay", func(ctx context.Context) {
		stranger := discord.CreateWebhookByHand(c.Status.ChannelID, "alertmanager")
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook = nil }))
		eventuallyReady(ctx, c)
		eventuallyGone(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "alerts-webhook"}})
		Expect(hooks(c)).To(ConsistOf(HaveField("ID", stranger.ID)))
		Expect(c.Status.Webhook).To(BeNil())
		w.expectSettled(ctx, c)

		By("asking for it again")
		edit(ctx, c, withWebhook)
		eventuallyReady(ctx, c)
		Expect(hooks(c)).To(HaveLen(2))
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[1]))
	})

	It("of a channel that is deleted on Discord is made anew with the channel", func(ctx context.Context) {
		before := c.Status
		discord.DeleteChannelByHand(before.ChannelID)
		Eventually(ctx, refetch(c)).Should(And(HaveField("Status.ChannelID", Not(Equal(before.ChannelID))), HaveField("Status.Webhook.ID", Not(Equal(before.Webhook.ID)))))
		eventuallyReady(ctx, c)
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
		w.expectSettled(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, postWebhook, postChannel, postWebhook}))
	})

	DescribeTable("leaves alone a Secret that belongs to somebody else, until that is gone", func(ctx context.Context, owner []metav1.OwnerReference) {
		taken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "taken", OwnerReferences: owner}, StringData: map[string]string{"url": "mine"}}
		Expect(k8s.Create(ctx, taken)).To(Succeed())
		edits := len(w.edits())
		late := w.channel("", "late", withWebhook, with(func(s *channelSpec) { s.Webhook.SecretName = "taken" }))
		create(ctx, late)
		Expect(eventuallyDegraded(ctx, late, "NameConflict")).To(ContainSubstring("Secret taken"))
		Expect(late).To(HaveCondition("Available", "True", "OnDiscord"))
		Expect(w.edits()[edits:]).To(Equal([]string{postChannel}), "a webhook whose URL could not be kept is not made")
		Expect(w.secretOf("taken")(ctx)).To(HaveField("Data", Equal(map[string][]byte{"url": []byte("mine")})))
		Expect(k8s.Delete(ctx, taken)).To(Succeed())
		eventuallyReady(ctx, late)
		Expect(w.secretOf("taken")(ctx)).To(holdURLOf(hooks(late)[0]))
	},
		Entry("somebody who is not known", nil),
		Entry("another controller", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "1", Controller: new(true)}}),
	)

	It("can have the name of a Secret that another channel gives up", func(ctx context.Context) {
		late := w.channel("", "late", withWebhook, with(func(s *channelSpec) { s.Webhook.SecretName = "alerts-webhook" }))
		create(ctx, late)
		eventuallyDegraded(ctx, late, "NameConflict")
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook.SecretName = "elsewhere" }))
		eventuallyReady(ctx, c)
		eventuallyReady(ctx, late)
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(late)[0]))
	})
})
