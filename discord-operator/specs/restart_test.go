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

var _ = Describe("When the operator starts again", func() {
	// leads waits until the operator leads, which is when it begins to work.
	leads := func(ctx context.Context, m *managed) {
		GinkgoHelper()
		Eventually(ctx, func() int { return reconciles(ctx) }).Should(BeNumerically(">=", len(allIn(ctx, m.ns))), "every object is looked at")
		Eventually(ctx, func() int { return discord.Gateway().Stats().Open }).Should(BeNumerically(">", 0))
		m.expectRest(ctx)
	}

	DescribeTable("it changes nothing where nothing has changed", func(ctx context.Context, end func(context.Context)) {
		m := newManaged(ctx)
		m.expectRest(ctx)
		edits, writes := m.edits(), operator.Writes(m.ns)
		calls := len(m.calls())
		end(ctx)
		operator.Start(ctx)
		leads(ctx, m)
		Expect(since(edits, m.edits())).To(BeEmpty(), "edits on Discord")
		Expect(since(writes, operator.Writes(m.ns))).To(BeEmpty(), "writes to Kubernetes")
		Expect(len(m.calls())-calls).To(BeNumerically("<=", 6), "the Gateway brings what there is: %v", m.calls()[calls:])
	},
		Entry("after a clean stop", func(context.Context) { operator.Stop() }),
		Entry("after a crash", func(ctx context.Context) { operator.Kill(ctx) }),
	)

	It("it puts right what people have changed meanwhile", func(ctx context.Context) {
		m := newManaged(ctx)
		edits := len(m.edits())
		operator.Stop()
		before := m.live()
		m.editByHand(func(c *discordtest.Channel) { c.Topic, c.RateLimitPerUser = "", 0 })()
		gone, hook := m.below.Status.ChannelID, m.channel.Status.Webhook.ID
		discord.DeleteChannelByHand(gone)
		discord.DeleteWebhookByHand(hook)
		operator.Start(ctx)

		Eventually(ctx, m.live).Should(Equal(before))
		Eventually(ctx, refetch(m.below)).ShouldNot(HaveField("Status.ChannelID", gone))
		Eventually(ctx, refetch(m.channel)).ShouldNot(HaveField("Status.Webhook.ID", hook))
		for _, o := range allIn(ctx, m.ns) {
			eventuallyReady(ctx, o)
		}
		leads(ctx, m)
		Expect(m.edits()[edits:]).To(ConsistOf("PATCH /channels/{channel_id}", "POST /guilds/{guild_id}/channels", "POST /channels/{channel_id}/webhooks"))
	})

	It("it does what was asked for meanwhile", func(ctx context.Context) {
		m := newManaged(ctx)
		operator.Kill(ctx)
		edit(ctx, m.channel, func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("Everything") })
		Expect(k8s.Delete(ctx, m.below)).To(Succeed())
		added := m.world.channel("alarms", "added")
		create(ctx, added)
		address := webhookSecret(ctx, m.channel)
		Expect(k8s.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.ns, Name: m.channel.WebhookSecretName()}})).To(Succeed())
		operator.Start(ctx)

		eventuallyReady(ctx, m.channel)
		eventuallyReady(ctx, added)
		eventuallyGone(ctx, m.below)
		Expect(m.live().Topic).To(Equal("Everything"))
		Expect(discord.Guild(m.guild).Channels).To(HaveLen(3))
		Eventually(ctx, func() string { return webhookSecret(ctx, m.channel) }).Should(Equal(address), "the webhook is the same")
	})

	It("a standby takes over at once from one that is asked to leave", func(ctx context.Context) {
		m := newManaged(ctx)
		first := operator.Process()
		operator.Start(ctx)
		connections := discord.Gateway().Stats().Open
		m.expectRest(ctx)
		writes := operator.Writes(m.ns)
		Expect(discord.Gateway().Stats().Open).To(Equal(connections), "a standby does not connect to Discord")
		first.Stop()
		repaired(ctx, m.live, m.editByHand(channelChanges["slowmode"]))
		Expect(since(writes, operator.Writes(m.ns))).To(BeEmpty(), "the status is as it was")
	})
})
