// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/discordtest"
)

const getChannel = "GET /channels/{channel_id}"

func (w *world) unknown(route string, times int) {
	w.fault(discordtest.Fault{Route: route, Times: times,
		Action: discordtest.Action{Status: 404, Body: `{"code": 10003, "message": "Unknown Channel"}`}})
}

// Discord sometimes answers 404 for a moment, although the channel exists.
var _ = Describe("A channel that Discord reports as unknown", func() {
	Describe("with a resync every three seconds", Ordered, ContinueOnFailure, SpecPriority(1), func() {
		BeforeAll(func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()}, "--resync-period=3s")
		})

		DescribeTable("is not created again if it still exists", func(ctx context.Context, live bool) {
			discord.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: !live})
			w := newWorld(ctx)
			c := w.channel("", "alerts")
			ready(ctx, w.server(), c)
			id := c.Status.ChannelID
			w.unknown(patchChannel, 1)
			w.unknown(getChannel, 1)
			w.fault(discordtest.Fault{Route: "GET /guilds/{guild_id}/channels", Times: 1,
				Action: discordtest.Action{Status: 200, Body: "[]"}})
			edit(ctx, c, slowmode(5))
			eventuallyReady(ctx, c)
			Expect(on(c).RateLimitPerUser).To(Equal(5))
			Expect(c.Status.ChannelID).To(Equal(id))
			Expect(discord.Guild(w.guild).Channels).To(HaveLen(1))
		},
			Entry("with the Gateway", true),
			Entry("without the Gateway", false),
		)

		It("is created again if a user has really deleted the channel, "+
			"although no event reports the deletion", func(ctx context.Context) {
			discord.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
			w := newWorld(ctx)
			c := w.channel("", "alerts")
			ready(ctx, w.server(), c)
			gone := c.Status.ChannelID
			discord.DeleteChannelByHand(gone)
			Eventually(ctx, refetch(c)).Should(HaveField("Status.ChannelID", Not(Equal(gone))))
			eventuallyReady(ctx, c)
			Expect(discord.Guild(w.guild).Channels).To(HaveLen(1))
		})
	})

	Describe("when Discord's lists lag up to two seconds behind", Ordered, ContinueOnFailure, SpecPriority(1), func() {
		BeforeAll(func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{
				Limits: discordtest.NoRateLimits(), Weakness: discordtest.Weakness{Stale: 1},
			}, "--resync-period=3s")
		})

		DescribeTable("gets no second webhook", func(ctx context.Context, live bool) {
			discord.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: !live})
			w := newWorld(ctx)
			objects := []client.Object{w.server()}
			for i := range 10 {
				c := w.channel("", fmt.Sprintf("alerts-%d", i))
				withWebhook(c)
				objects = append(objects, c)
			}
			ready(ctx, objects...)
			Consistently(ctx, func() int { return len(discord.Guild(w.guild).Webhooks) }, "8s").
				Should(Equal(10), "the operator reconciles each channel every three seconds")
			Expect(w.audited(webhookCreated)).To(Equal(10), "all creates, also of webhooks that the operator has deleted")
		},
			Entry("with the Gateway", true),
			Entry("without the Gateway", false),
		)
	})

	It("is deleted with its object if the channel still exists", func(ctx context.Context) {
		w := newWorld(ctx)
		c, g := w.channel("", "alerts"), w.group("incidents")
		ready(ctx, w.server(), c, g)
		w.unknown(deleteChannel, 2)
		w.unknown(getChannel, 2)
		deleteAndWait(ctx, c, g)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})
})
