// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func (w *world) hide(id string) {
	discord.EditChannelByHand(id, func(c *discordtest.Channel) {
		c.Overwrites = []discordtest.Overwrite{{ID: w.guild, Deny: discordtest.PermViewChannel}}
	})
}

func show(id string) {
	discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Overwrites = nil })
}

var _ = Describe("A channel or category that Discord hides from the bot", func() {
	It("is neither created again nor edited, and is Ready once it is visible again", func(ctx context.Context) {
		w := newWorld(ctx)
		s, c := w.server(), w.channel("", "alerts")
		ready(ctx, s, c)
		id, edits := c.Status.ChannelID, len(w.edits())
		w.hide(id)
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonHiddenFromBot)).To(And(ContainSubstring(id), ContainSubstring("ViewChannel")))
		Expect(c).To(HaveCondition("Available", "False", v1alpha1.ReasonNotManageable))
		discord.Gateway().Drop(0) // the operator reconnects with an empty cache of the guild
		w.expectIdle(ctx)
		Expect(w.edits()).To(HaveLen(edits))
		Expect(discord.Guild(w.guild).Channels).To(HaveLen(1))
		Expect(c).To(HaveField("Status.ChannelID", id))

		show(id)
		eventuallyReady(ctx, c)
		Expect(c.Status.ChannelID).To(Equal(id))
		Expect(w.edits()).To(HaveLen(edits))
	})

	It("is not created again while the Gateway is down", func(ctx context.Context) {
		// expectIdle waits for 2.5 s without a call, so the resync period must be longer.
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()}, "--resync-period=3s")
		discord.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		id := c.Status.ChannelID
		w.hide(id)
		eventuallyDegraded(ctx, c, v1alpha1.ReasonHiddenFromBot)
		Consistently(func() []discordtest.Channel { return discord.Guild(w.guild).Channels }).
			WithTimeout(7*time.Second).Should(HaveLen(1), "two resync periods pass")
		show(id)
		eventuallyReady(ctx, c)
		Expect(c.Status.ChannelID).To(Equal(id))
	})

	It("counts in the number of channels that the DiscordServer's status reports", func(ctx context.Context) {
		w := newWorld(ctx)
		s := w.server()
		w.hide(w.channelByHand(discordtest.Channel{Name: "secret"}))
		w.channelByHand(discordtest.Channel{Name: "open"})
		ready(ctx, s)
		Expect(s.Status.Channels.Total).To(BeEquivalentTo(2))
		discord.Gateway().Drop(0)
		w.expectIdle(ctx)
		Consistently(ctx, refetch(s)).WithTimeout(time.Second).Should(HaveField("Status.Channels.Total", BeEquivalentTo(2)))
	})

	It("makes new channels in it wait if it is a category", func(ctx context.Context) {
		w := newWorld(ctx)
		g := w.group("incidents")
		ready(ctx, w.server(), g)
		w.hide(g.Status.GroupID)
		eventuallyDegraded(ctx, g, v1alpha1.ReasonHiddenFromBot)
		c := w.channel("incidents", "alerts")
		create(ctx, c)
		Expect(eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForGroup)).To(ContainSubstring("hidden from the bot"))
		show(g.Status.GroupID)
		eventuallyReady(ctx, g, c)
		Expect(discord.Guild(w.guild).Channels).To(HaveLen(2))
	})

	It("is reported if Discord hides it before the response to the create", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		answer := w.holdAnswer(postChannel)
		g := w.group("incidents")
		create(ctx, g)
		Eventually(w.idsNamed).WithArguments("incidents").Should(HaveLen(1))
		w.hide(w.idsNamed("incidents")[0])
		Consistently(ctx, refetch(g)).WithTimeout(time.Second).
			Should(HaveField("Status.GroupID", BeEmpty()), "the event arrives meanwhile")
		answer()
		eventuallyDegraded(ctx, g, v1alpha1.ReasonHiddenFromBot)
	})

	It("is not adopted, and the deletion of its object waits until it is visible", func(ctx context.Context) {
		w := newWorld(ctx)
		hidden := w.channelByHand(discordtest.Channel{Name: "secret"})
		w.hide(hidden)
		adopted := w.channel("", "adopted", adopting(hidden))
		c, g := w.channel("", "alerts"), w.group("incidents")
		ready(ctx, w.server(), c, g)
		create(ctx, adopted)
		eventuallyDegraded(ctx, adopted, v1alpha1.ReasonHiddenFromBot)
		w.hide(c.Status.ChannelID)
		w.hide(g.Status.GroupID)
		// Wait for the Gateway event that hides the channel, and delete only then.
		eventuallyDegraded(ctx, c, v1alpha1.ReasonHiddenFromBot)
		eventuallyDegraded(ctx, g, v1alpha1.ReasonHiddenFromBot)
		edits := len(w.edits())
		for _, o := range []client.Object{c, g} {
			Expect(k8s.Delete(ctx, o)).To(Succeed())
			Expect(eventuallyDegraded(ctx, o, v1alpha1.ReasonDeletionFailed)).To(And(
				ContainSubstring("Discord hides the "), ContainSubstring(v1alpha1.ForceDeleteAnnotation)))
		}
		w.expectIdle(ctx)
		Expect(w.edits()).To(HaveLen(edits))
		show(c.Status.ChannelID)
		show(g.Status.GroupID)
		Eventually(func() []discordtest.Channel { return discord.Guild(w.guild).Channels }).Should(HaveLen(1),
			"only the channel of spec.adopt stays")
	})
})
