// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func (w *world) eventuallyLeads(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() int { return reconciles(ctx) }).
		Should(BeNumerically(">=", len(allIn(ctx, w.ns))), "every object is reconciled")
	Eventually(ctx, func() int { return discord.Gateway().Stats().Open }).Should(BeNumerically(">", 0))
	w.expectIdle(ctx)
}

// settle triggers the server's reconcile, which would otherwise follow at least two seconds
// after a change of one of the server's objects.
func (m *managed) settle(ctx context.Context) {
	GinkgoHelper()
	reconcileAgain(ctx, m.server)
	m.expectIdle(ctx)
}

var _ = Describe("When the operator starts again", func() {
	DescribeTable("it edits nothing on Discord "+
		"and writes nothing to Kubernetes if nothing has changed", func(ctx context.Context, end func(context.Context)) {
		m := newManaged(ctx)
		m.settle(ctx)
		edits, writes := m.edits(), operator.Writes(m.ns)
		calls := len(m.calls())
		end(ctx)
		operator.Start(ctx)
		m.eventuallyLeads(ctx)
		Expect(since(edits, m.edits())).To(BeEmpty(), "edits on Discord")
		Expect(since(writes, operator.Writes(m.ns))).To(BeEmpty(), "writes to Kubernetes")
		Expect(len(m.calls())-calls).
			To(BeNumerically("<=", 6), "few calls, because the Gateway sends the state: %v", m.calls()[calls:])
	},
		Entry("after a clean stop", func(context.Context) { operator.Stop() }),
		Entry("after a crash", func(ctx context.Context) { operator.Kill(ctx) }),
	)

	It("it corrects the drift that arose while it was stopped", func(ctx context.Context) {
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
		eventuallyReady(ctx, allIn(ctx, m.ns)...)
		m.eventuallyLeads(ctx)
		Expect(m.edits()[edits:]).To(ConsistOf(patchChannel, postChannel, postWebhook))
	})

	It("it applies specs that changed while it was stopped", func(ctx context.Context) {
		m := newManaged(ctx)
		operator.Kill(ctx)
		edit(ctx, m.channel, func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("Everything") })
		deleteObjects(ctx, m.below)
		added := m.world.channel("incidents", "added")
		create(ctx, added)
		address := webhookURL(ctx, m.channel)
		deleteObjects(ctx, m.secret(m.channel.WebhookSecretName()))
		operator.Start(ctx)

		eventuallyReady(ctx, m.channel, added)
		eventuallyGone(ctx, m.below)
		Expect(m.live().Topic).To(Equal("Everything"))
		Expect(discord.Guild(m.guild).Channels).To(HaveLen(3))
		Eventually(ctx, func() string { return webhookURL(ctx, m.channel) }).
			Should(Equal(address), "the webhook is the same")
	})

	It("as a second process, it is a standby, "+
		"and becomes the leader when the first process stops", func(ctx context.Context) {
		m := newManaged(ctx)
		m.settle(ctx)
		first := operator.Process()
		DeferCleanup(first.Kill)
		operator.Start(ctx)
		connections := discord.Gateway().Stats().Open
		m.expectIdle(ctx)
		writes := operator.Writes(m.ns)
		Expect(discord.Gateway().Stats().Open).To(Equal(connections), "a standby should not connect to the Gateway")
		first.Stop()
		expectCorrected(ctx, m.live, m.editByHand(channelChanges["slowmode"]))
		Expect(since(writes, operator.Writes(m.ns))).To(BeEmpty(), "no status should change")
	})
})
