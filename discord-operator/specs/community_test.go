// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func asCommunity(s *v1alpha1.DiscordServer) {
	s.Spec.Community = v1alpha1.CommunityEnabled
	s.Spec.RulesChannelRef = &v1alpha1.ChannelReference{Name: "rules"}
	s.Spec.PublicUpdatesChannelRef = &v1alpha1.ChannelReference{Name: "moderators"}
}

var _ = Describe("Community", func() {
	var w *world
	var s *v1alpha1.DiscordServer
	var rules, moderators *v1alpha1.DiscordChannel
	administrator := func() {
		discord.SetPermissions(w.guild, w.bot.UserID, everything|discordtest.PermAdministrator)
	}
	features := func() []string { return discord.Guild(w.guild).Features }
	prepare := func(ctx context.Context) {
		w = newWorld(ctx)
		s, rules, moderators = w.server(asCommunity), w.channel("", "rules"), w.channel("", "moderators")
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"INVITES_DISABLED", "VERIFIED"} })
	}
	BeforeEach(prepare)

	It("is enabled by one edit once its rules and updates channels exist, "+
		"and again after a user has disabled it", func(ctx context.Context) {
		administrator()
		forum := w.channel("", "ideas", func(c *v1alpha1.DiscordChannel) { c.Spec.Type = v1alpha1.ChannelTypeForum })
		create(ctx, s, rules, forum)
		Expect(eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForChannel)).To(ContainSubstring("moderators"))
		eventuallyDegraded(ctx, forum, v1alpha1.ReasonCommunityRequired)
		Expect(features()).To(ConsistOf("INVITES_DISABLED", "VERIFIED"))

		create(ctx, moderators)
		eventuallyReady(ctx, s, rules, moderators, forum)
		Expect(discord.Guild(w.guild)).To(And(
			HaveField("Features", ConsistOf("COMMUNITY", "NEWS", "INVITES_DISABLED", "VERIFIED")),
			HaveField("RulesChannelID", rules.Status.ChannelID), HaveField("PublicUpdatesChannelID", moderators.Status.ChannelID),
			HaveField("VerificationLevel", 1), HaveField("ExplicitContentFilter", 2)))
		w.expectInSync(ctx, s)
		before := len(w.edits())

		By("a user disabling Community, which only a bot with Administrator can enable again")
		discord.SetPermissions(w.guild, w.bot.UserID, everything)
		w.expectInSync(ctx, s)
		Expect(refetch(s)(ctx)).To(HaveCondition("Ready", "True", ""), "enabled Community needs no administrator")
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"VERIFIED"} })
		eventuallyDegraded(ctx, s, v1alpha1.ReasonMissingPermissions)
		administrator()
		eventuallyReady(ctx, s)
		Expect(features()).To(ConsistOf("COMMUNITY", "NEWS", "VERIFIED"))
		Expect(w.edits()[before:]).To(Equal([]string{patchGuild}))

		By("leaving Community out of the spec")
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.Community = "" })
		w.expectIdle(ctx)
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = nil })
		w.expectInSync(ctx, s)
		Expect(features()).To(BeEmpty())
	})

	It("waits until the bot is administrator, and delays no other setting", func(ctx context.Context) {
		s.Spec.Name = "Tokyo"
		create(ctx, s, rules, moderators)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonMissingPermissions)).
			To(And(ContainSubstring("the permission Administrator"), ContainSubstring("enable Community")))
		eventuallyReady(ctx, rules, moderators)
		Eventually(ctx, func() discordtest.Guild { return discord.Guild(w.guild) }).Should(And(HaveField("Name", "Tokyo"),
			HaveField("RulesChannelID", rules.Status.ChannelID), HaveField("Features", ConsistOf("INVITES_DISABLED", "VERIFIED"))))
		w.expectInSync(ctx, s)
		for _, r := range discord.Requests() {
			Expect(r.BotID == w.bot.UserID && r.Status == 403).To(BeFalse(), "each refusal counts towards a ban")
		}
		administrator()
		eventuallyReady(ctx, s)
		Expect(features()).To(ContainElement("COMMUNITY"))
	})

	It("gets another rules channel by one edit, even if the bot is not administrator", func(ctx context.Context) {
		administrator()
		other := w.channel("", "principles")
		ready(ctx, s, rules, moderators, other)
		discord.SetPermissions(w.guild, w.bot.UserID, everything)
		before := len(w.edits())
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.RulesChannelRef.Name = other.Name })
		Eventually(ctx, func() string { return discord.Guild(w.guild).RulesChannelID }).Should(Equal(other.Status.ChannelID))
		eventuallyReady(ctx, s)
		w.expectInSync(ctx, s)
		Expect(w.edits()[before:]).To(Equal([]string{patchGuild}))
		Expect(discord.Guild(w.guild)).To(And(HaveField("PublicUpdatesChannelID", moderators.Status.ChannelID),
			HaveField("Features", ConsistOf("COMMUNITY", "NEWS", "INVITES_DISABLED", "VERIFIED"))))
	})

	It("blocks the deletion of its channels, without a request to Discord, until it no longer uses them",
		func(ctx context.Context) {
			administrator()
			other := w.channel("", "principles")
			ready(ctx, s, rules, moderators, other)
			before := len(w.edits())
			refused := func() (all []string) {
				for _, r := range discord.Requests() {
					if r.BotID == w.bot.UserID && r.Status == 400 {
						all = append(all, r.Route)
					}
				}
				return all
			}

			By("deleting its rules channel, and then using another rules channel")
			deleteObjects(ctx, rules)
			Expect(eventuallyDegraded(ctx, rules, v1alpha1.ReasonDeletionFailed)).To(And(
				ContainSubstring("#rules is the rules channel of a community server"),
				ContainSubstring("spec.rulesChannelRef of DiscordServer "+s.Name), ContainSubstring(v1alpha1.ForceDeleteAnnotation)))
			Expect(eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForChannel)).To(ContainSubstring("is being deleted"))
			Expect(w.edits()[before:]).To(BeEmpty())
			edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.RulesChannelRef.Name = other.Name })
			eventuallyGone(ctx, rules)
			eventuallyReady(ctx, s)
			Expect(w.edits()[before:]).To(Equal([]string{patchGuild, deleteChannel}))

			By("deleting everything")
			deleteObjects(ctx, s)
			eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForDependents)
			deleteObjects(ctx, other, moderators)
			Expect(eventuallyDegraded(ctx, other, v1alpha1.ReasonDeletionFailed)).To(ContainSubstring("disable Community"))
			Expect(eventuallyDegraded(ctx, moderators, v1alpha1.ReasonDeletionFailed)).To(And(
				ContainSubstring("#moderators is the channel in which Discord notifies the moderators of a community server"),
				Not(ContainSubstring("spec."))), "an edit of a server in deletion has no effect")
			eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForDependents)
			Expect(w.edits()[before:]).To(HaveLen(2))
			discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = nil })
			eventuallyGone(ctx, s, other, moderators)
			Expect(w.edits()[before:]).To(Equal([]string{patchGuild, deleteChannel, deleteChannel, deleteChannel}))
			Expect(refused()).To(BeEmpty())
		})

	It("stays disabled if a user disables it while its rules channel is being deleted, "+
		"until that channel exists again", func(ctx context.Context) {
		administrator()
		ready(ctx, s, rules, moderators)
		deleteObjects(ctx, rules)
		eventuallyDegraded(ctx, rules, v1alpha1.ReasonDeletionFailed)
		eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForChannel)
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = nil })
		eventuallyGone(ctx, rules)
		Expect(features()).To(BeEmpty())
		again := w.channel("", "rules")
		create(ctx, again)
		eventuallyReady(ctx, again, s)
		Expect(features()).To(ConsistOf("COMMUNITY", "NEWS"))
	})

	It("appears as a difference in the status of a server with managementPolicy Observe", func(ctx context.Context) {
		ready(ctx, w.server(), rules, moderators)
		edit(ctx, s, func(s *v1alpha1.DiscordServer) {
			asCommunity(s)
			observing(s)
		})
		eventuallyDiffers(ctx, s, "verificationLevel: None -> Low", "explicitContentFilter: Disabled -> AllMembers",
			`rulesChannelRef: none -> "rules"`, `publicUpdatesChannelRef: none -> "moderators"`, "community: none -> Enabled")
	})

	It("makes the operator apply again the settings "+
		"that Discord ignored before Community was enabled", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(),
			Altered: discordtest.Altered{Locale: true, Description: true}})
		prepare(ctx)
		administrator()
		s.Spec.Description, s.Spec.PreferredLocale = new("A school"), "ja"
		ready(ctx, s, rules, moderators)
		Expect(discord.Guild(w.guild)).To(And(HaveField("Description", "A school"), HaveField("PreferredLocale", "ja")))
		w.expectInSync(ctx, s)
	})
})
