// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

// A server of other people's making: other error codes, no audit log, no roles in the guild, events
// of few channels, and those twice.
var _ = Describe("With a compatible server", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(), Compatible: true}, "--resync-period=3s")
	})

	It("objects are created, corrected and deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g := w.server(), w.group("incidents")
		loose := w.channel("", "loose")
		c := w.channel("incidents", "alerts", withWebhook, withOverwrites(denying("@everyone", "SendMessages")))
		ready(ctx, s, g, c, loose)
		w.expectInSync(ctx, s, g, c, loose)
		discord.Gateway().Drop(0) // so that the next session has them from the start, and their events
		w.expectIdle(ctx)
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Name = "quiet" })
		Eventually(func() string { return on(c).Name }).Should(Equal("alerts"))
		gone := loose.Status.ChannelID
		discord.DeleteChannelByHand(gone)
		Eventually(ctx, refetch(loose)).Should(HaveField("Status.ChannelID", Not(Equal(gone))))
		eventuallyReady(ctx, s, g, c, loose)
		Expect(discord.Guild(w.guild).Channels).To(HaveLen(3))
		deleteAndWait(ctx, c, loose, g)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("a create whose response is lost makes one channel, also after a kill", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		w.fault(discordtest.Fault{Route: postChannel, Times: 2, Action: discordtest.DropAfter()})
		c, g := w.channel("", "alerts"), w.group("incidents")
		create(ctx, c, g)
		Eventually(func() []string { return append(w.named("alerts"), w.named("incidents")...) }).Should(HaveLen(2))
		operator.Kill(ctx)
		operator.Start(ctx)
		eventuallyReady(ctx, c, g)
		Expect(w.named("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.named("incidents")).To(ConsistOf(g.Status.GroupID))
		Expect(c.Status.Matched).To(BeTrue(), "there is no audit log")
		deleteAndWait(ctx, c, g)
		Expect(w.named("alerts")).To(HaveLen(1), "a guess is retained")
	})
})
