// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("When Discord ignores a value or stores it in another form", func() {
	It("an object is Degraded, and is not edited again, until its spec leaves out the value", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(), Compatible: true})
		w := newWorld(ctx)
		server, c := w.server(), w.channel("", "tokyo")
		ready(ctx, server, c)
		before := len(w.edits())
		edit(ctx, c, slowmode(30))
		edit(ctx, server, func(s *v1alpha1.DiscordServer) { s.Spec.Description = new("The school") })
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonNotApplied)).To(ContainSubstring("a change of slowmode"))
		Expect(eventuallyDegraded(ctx, server, v1alpha1.ReasonNotApplied)).To(ContainSubstring("a change of description"))
		w.expectInSync(ctx, server, c)
		Expect(w.edits()[before:]).To(ConsistOf(patchChannel, patchGuild))
		Expect(eventsOf(c)(ctx)).NotTo(ContainElement("Normal DriftCorrected"), "no user has changed anything")
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Spec.Slowmode = nil })
		edit(ctx, server, func(s *v1alpha1.DiscordServer) { s.Spec.Description = nil })
		eventuallyReady(ctx, server, c)
	})

	It("a DiscordServer is Degraded "+
		"while Discord ignores a setting that only communities have", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(),
			Altered: discordtest.Altered{CommunityChannels: true}})
		w := newWorld(ctx)
		c := w.channel("", "rules")
		server := w.server(func(s *v1alpha1.DiscordServer) {
			s.Spec.RulesChannelRef = &v1alpha1.ChannelReference{Name: c.Name}
		})
		create(ctx, server, c)
		Expect(eventuallyDegraded(ctx, server, v1alpha1.ReasonNotApplied)).To(ContainSubstring("a change of rulesChannelRef"))
		w.expectInSync(ctx, server)
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"COMMUNITY"} })
		eventuallyReady(ctx, server, c)
		Expect(discord.Guild(w.guild).RulesChannelID).To(Equal(c.Status.ChannelID))
	})

	It("a channel is not edited again if only its topic has another form on Discord", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(),
			Altered: discordtest.Altered{Topic: func(string) string { return "rewritten" }}})
		w := newWorld(ctx)
		c := w.channel("", "tokyo", func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("What is wrong") })
		ready(ctx, w.server(), c)
		w.expectInSync(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel}))
		discord.EditChannelByHand(c.Status.ChannelID, func(c *discordtest.Channel) { c.Topic = "by hand" })
		Eventually(ctx, func() string { return on(c).Topic }).Should(Equal("rewritten"), "a user's change is corrected")
		w.expectInSync(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, patchChannel}))
	})

	It("a channel gets its group's overwrites by an edit "+
		"if Discord created the channel without them", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(),
			Altered: discordtest.Altered{Unsynced: true}})
		w := newWorld(ctx)
		g := w.group("private", groupOverwrites(denying("@everyone", "ViewChannel")))
		ready(ctx, w.server(), g)
		c := w.channel("private", "tokyo")
		w.fault(discordtest.Fault{Match: func(r discordtest.Request) bool { return r.Route == patchChannel },
			Times: 1, Action: discordtest.FailBefore(500)})
		ready(ctx, c)
		Expect(on(c).Overwrites).To(Equal(category(g).Overwrites))
		discord.EditChannelByHand(c.Status.ChannelID, func(c *discordtest.Channel) { c.Overwrites = nil })
		w.expectInSync(ctx, c)
		Expect(on(c).Overwrites).To(BeEmpty(), "the operator should not restore overwrites that the spec leaves out")
	})
})
