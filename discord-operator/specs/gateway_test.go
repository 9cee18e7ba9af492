// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("Discord's Gateway", func() {
	missing := func(events ...string) {
		discord.Gateway().SetFaults(discordtest.GatewayFaults{Miss: func(event string) bool {
			return len(events) == 0 || event == events[0]
		}})
	}

	It("is replaced by periodic reads when no event follows an edit by the operator", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()},
			"--event-timeout=3s", "--resync-period=3s") // longer than an event takes on a busy machine
		w := newWorld(ctx)
		c, other := w.channel("", "tokyo"), w.channel("", "kyoto")
		ready(ctx, w.server(), c, other)
		w.expectIdle(ctx)
		missing()
		discord.EditChannelByHand(other.Status.ChannelID, func(c *discordtest.Channel) { c.Name = "by-hand" })
		calls := len(w.calls())
		Consistently(ctx, func() []string { return w.calls()[calls:] }).WithTimeout(4*time.Second).Should(BeEmpty(),
			"without an edit by the operator, a lack of events should cause no read")

		edit(ctx, c, slowmode(5))
		Eventually(ctx, func() string { return on(other).Name }).Should(Equal("kyoto"))
		discord.EditChannelByHand(other.Status.ChannelID, func(c *discordtest.Channel) { c.Name = "by-hand-again" })
		Eventually(ctx, func() string { return on(other).Name }).Should(Equal("kyoto"),
			"the operator should read the channels every --resync-period")
		discord.Gateway().SetFaults(discordtest.GatewayFaults{})
	})

	It("loses the event of a webhook's deletion, "+
		"and the operator finds the deletion at the next read", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()}, "--live-resync-period=2s")
		w := newWorld(ctx)
		c := w.channel("", "tokyo", withWebhook)
		ready(ctx, w.server(), c)
		missing("WEBHOOKS_UPDATE")
		old := hooks(c)[0]
		discord.DeleteWebhookByHand(old.ID)
		Eventually(ctx, func() []discordtest.Webhook { return hooks(c) }).
			Should(ConsistOf(HaveField("ID", Not(Equal(old.ID)))))
		Eventually(ctx, w.secretOf("tokyo-webhook")).Should(holdURLOf(hooks(c)[0]))
		discord.Gateway().SetFaults(discordtest.GatewayFaults{})
	})

	It("is replaced by periodic reads when it refuses a bot that is in too many servers", func(ctx context.Context) {
		limits := discordtest.NoRateLimits()
		limits.GuildsPerSession = 2
		// expectIdle waits for 2.5 s without a call, so the resync period must be longer.
		anotherDiscord(ctx, discordtest.Options{Limits: limits}, "--resync-period=3s")
		w := newWorld(ctx)
		discord.AddMember(discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID, w.bot.UserID, everything)
		s, c := w.server(), w.channel("", "tokyo")
		create(ctx, s, c)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonTooManyServers)).To(ContainSubstring("2,500"))
		eventuallyReady(ctx, c)
		discord.EditChannelByHand(c.Status.ChannelID, func(c *discordtest.Channel) { c.Name = "by-hand" })
		Eventually(ctx, func() string { return on(c).Name }).Should(Equal("tokyo"))
	})

	It("reports changes in a second server, which the bot joins during the session", func(ctx context.Context) {
		w := newWorld(ctx)
		kyoto := discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID
		ready(ctx, w.server())
		discord.AddMember(kyoto, w.bot.UserID, everything)
		s := w.server(func(s *v1alpha1.DiscordServer) { s.Name, s.Spec.ServerID = "kyoto", kyoto })
		c := w.channel("", "incidents", func(c *v1alpha1.DiscordChannel) { c.Spec.ServerRef.Name = "kyoto" })
		ready(ctx, s, c)
		discord.EditChannelByHand(c.Status.ChannelID, func(c *discordtest.Channel) { c.Name = "by-hand" })
		Eventually(ctx, func() string { return on(c).Name }).Should(Equal("incidents"))
	})
})
