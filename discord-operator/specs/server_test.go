// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"regexp"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func asked(text string) discordtest.Permissions {
	GinkgoHelper()
	found := regexp.MustCompile(`permissions=(\d+)`).FindStringSubmatch(text)
	Expect(found).To(HaveLen(2), "no invitation in %s", text)
	bits, err := strconv.ParseUint(found[1], 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return discordtest.Permissions(bits)
}

var _ = Describe("A DiscordServer", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	It("adopts an existing server, changes nothing there, "+
		"and reports its name, owner and channel count", func(ctx context.Context) {
		s := w.server()
		ready(ctx, s)
		guild := discord.Guild(w.guild)
		Expect(s.Status).To(And(
			HaveField("ServerID", w.guild), HaveField("Name", "Jujutsu High"), HaveField("OwnerID", guild.OwnerID),
			HaveField("ApplicationID", w.bot.ApplicationID),
			HaveField("InviteURL", ContainSubstring("client_id="+w.bot.ApplicationID)),
			HaveField("Channels", HaveValue(Equal(v1alpha1.ChannelCount{Total: 0, Limit: 500})))))
		Expect(s).To(HaveCondition("Available", "True", v1alpha1.ReasonOnDiscord))
		Expect(w.edits()).To(BeEmpty())
		Eventually(ctx, eventsOf(s)).Should(ContainElement("Normal Adopted"))
		Eventually(ctx, func() []string { return operator.Writes(w.ns) }).
			Should(Equal([]string{"patch discordservers/jujutsu", "patch discordservers/jujutsu/status"}),
				"the API server shows a write before its audit log has the write")
	})

	It("is printed by kubectl with id, name and readiness, like its groups and channels", func(ctx context.Context) {
		s, g, c := w.server(), w.group("incidents"), w.channel("incidents", "tokyo")
		ready(ctx, s, g, c)
		Expect(cells(asTable(ctx, w.ns, "discordservers"))).To(ConsistOf(
			And(HavePrefix("jujutsu True Reconciled "+w.guild+" Jujutsu High "), HaveSuffix(message(s, "Ready")))))
		Expect(cells(asTable(ctx, w.ns, "discordgroups"))).
			To(ConsistOf(HavePrefix("incidents True Reconciled " + g.Status.GroupID + " jujutsu incidents ")))
		Expect(cells(asTable(ctx, w.ns, "discordchannels"))).To(ConsistOf(
			And(HavePrefix("tokyo True Reconciled "+c.Status.ChannelID+" jujutsu incidents "),
				ContainSubstring("/channels/"+w.guild+"/"+c.Status.ChannelID))))
		Eventually(ctx, refetch(s)).Should(HaveField("Status.Channels.Total", int32(2)), "a category and a channel")
	})

	It("is Degraded with an invite URL until a user invites the bot, and then becomes Ready", func(ctx context.Context) {
		discord.RemoveMember(w.guild, w.bot.UserID)
		s, c := w.server(), w.channel("", "alerts")
		create(ctx, s, c)
		text := eventuallyDegraded(ctx, s, v1alpha1.ReasonBotNotInServer)
		Expect(text).To(And(ContainSubstring(w.guild), ContainSubstring(s.Status.InviteURL)))
		// 805307568 is ViewChannel, ManageChannels, ManageWebhooks, ManageGuild, ViewAuditLog and
		// ManageRoles.
		Expect(s.Status.InviteURL).
			To(And(HavePrefix(discord.URL()+"/oauth2/authorize?"), ContainSubstring("client_id="+w.bot.ApplicationID),
				ContainSubstring("scope=bot"), ContainSubstring("permissions=805307568"), ContainSubstring("guild_id="+w.guild)))
		Expect(s).To(HaveCondition("Available", "False", v1alpha1.ReasonNotManageable))
		Expect(eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForServer)).To(ContainSubstring("jujutsu"))

		discord.AddMember(w.guild, w.bot.UserID, everything)
		eventuallyReady(ctx, s, c)
	})

	It("loses no channel when its bot is removed and invited again", func(ctx context.Context) {
		s, c := w.server(), w.channel("", "alerts")
		ready(ctx, s, c)
		id := c.Status.ChannelID
		discord.RemoveMember(w.guild, w.bot.UserID)
		eventuallyDegraded(ctx, s, v1alpha1.ReasonBotNotInServer)
		eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForServer)

		discord.AddMember(w.guild, w.bot.UserID, everything)
		eventuallyReady(ctx, s, c)
		Expect(c.Status.ChannelID).To(Equal(id))
		Expect(discord.Guild(w.guild).Channels).To(HaveLen(1))
	})

	It("names every permission that its bot lacks, "+
		"and becomes Ready when the bot has them all", func(ctx context.Context) {
		discord.SetPermissions(w.guild, w.bot.UserID, discordtest.PermViewChannel|discordtest.PermManageChannels)
		s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.Description = new("The school") })
		private := w.channel("", "private", withOverwrites(denying("@everyone", "MuteMembers")))
		hook, plain := w.channel("", "hook", withWebhook), w.channel("", "plain")
		create(ctx, s, private, hook, plain)
		Eventually(ctx, func(g Gomega) {
			text := eventuallyDegraded(ctx, s, v1alpha1.ReasonMissingPermissions)
			g.Expect(text).
				To(And(ContainSubstring("ManageGuild"), ContainSubstring("ViewAuditLog"), ContainSubstring("ManageRoles"),
					ContainSubstring("ManageWebhooks"), ContainSubstring("MuteMembers"), ContainSubstring(s.Status.InviteURL)))
			g.Expect(text).NotTo(Or(ContainSubstring("ManageChannels"), ContainSubstring("ViewChannel")),
				"the bot has these permissions")
		}).Should(Succeed())
		Expect(s).To(HaveCondition("Available", "True", v1alpha1.ReasonOnDiscord))
		Expect(eventuallyDegraded(ctx, private, v1alpha1.ReasonMissingPermissions)).To(ContainSubstring("MuteMembers"))
		Expect(eventuallyDegraded(ctx, hook, v1alpha1.ReasonMissingPermissions)).To(ContainSubstring("ManageWebhooks"))
		eventuallyReady(ctx, plain) // the operator still makes the edits that it is permitted to make
		for _, r := range discord.Requests() {
			Expect(r.BotID == w.bot.UserID && r.Status == 403).
				To(BeFalse(), "%s was refused: each refusal counts towards a ban", r.Route)
		}

		const muteMembers = 1 << 22
		discord.SetPermissions(w.guild, w.bot.UserID, everything|muteMembers)
		eventuallyReady(ctx, allIn(ctx, w.ns)...)
	})

	It("is not Available without the bot's permission to manage channels", func(ctx context.Context) {
		discord.SetPermissions(w.guild, w.bot.UserID, discordtest.PermViewChannel)
		s, c := w.server(), w.channel("", "alerts")
		create(ctx, s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonMissingPermissions)).To(ContainSubstring("ManageChannels"))
		Expect(s).To(HaveCondition("Available", "False", v1alpha1.ReasonNotManageable))
		create(ctx, c) // not earlier: c would first report that the server has no status yet
		Expect(eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForServer)).To(ContainSubstring("ManageChannels"))
		discord.SetPermissions(w.guild, w.bot.UserID, everything)
		eventuallyReady(ctx, c)
	})

	It("makes its channels wait while the bot lacks the role that grants ManageChannels", func(ctx context.Context) {
		const needed = discordtest.PermManageChannels
		discord.SetPermissions(w.guild, w.bot.UserID, everything&^needed)
		role := discord.AddRole(w.guild, "Sensei", needed)
		discord.GiveRole(w.guild, w.bot.UserID, role)
		s, c := w.server(), w.channel("", "alerts")
		ready(ctx, s, c)
		edits := len(w.edits())

		discord.TakeRole(w.guild, w.bot.UserID, role)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonMissingPermissions)).To(ContainSubstring("ManageChannels"))
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("What is wrong") })
		Expect(eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForServer)).To(ContainSubstring("ManageChannels"))
		Expect(w.edits()).To(HaveLen(edits), "no call that Discord would refuse")

		discord.GiveRole(w.guild, w.bot.UserID, role)
		eventuallyReady(ctx, s, c)
		Expect(on(c).Topic).To(Equal("What is wrong"))
	})

	It("is Degraded while an older object has the same server, "+
		"until the older object is deleted", func(ctx context.Context) {
		first := w.server()
		ready(ctx, first)
		second := w.server(func(s *v1alpha1.DiscordServer) { s.Name = "kyoto" })
		create(ctx, second)
		Expect(eventuallyDegraded(ctx, second, v1alpha1.ReasonConflict)).
			To(And(ContainSubstring(w.ns+"/jujutsu"), ContainSubstring(w.guild)))
		Expect(refetch(first)(ctx)).To(HaveCondition("Ready", "True", ""))

		deleteAndWait(ctx, first)
		eventuallyReady(ctx, second)
	})

	It("gets the server of a deleted object that only waits "+
		"for the finalizer of another program", func(ctx context.Context) {
		first := w.server(func(s *v1alpha1.DiscordServer) { s.Finalizers = []string{"example.org/hold"} })
		ready(ctx, first)
		second := w.server(func(s *v1alpha1.DiscordServer) { s.Name = "kyoto" })
		create(ctx, second)
		eventuallyDegraded(ctx, second, v1alpha1.ReasonConflict)
		Expect(k8s.Delete(ctx, first)).To(Succeed())
		eventuallyReady(ctx, second)
		edit(ctx, first, func(s *v1alpha1.DiscordServer) { s.Finalizers = nil })
	})

	It("does not lose its server to a second object "+
		"while the Secret with the token is replaced", func(ctx context.Context) {
		first := w.server()
		ready(ctx, first)
		other := newWorld(ctx)
		discord.AddMember(w.guild, other.bot.UserID, everything)
		second := other.server(func(s *v1alpha1.DiscordServer) { s.Spec.ServerID = w.guild })
		create(ctx, second)
		eventuallyDegraded(ctx, second, v1alpha1.ReasonConflict)

		deleteObjects(ctx, w.token())
		eventuallyDegraded(ctx, first, v1alpha1.ReasonTokenNotFound)
		edit(ctx, second, func(s *v1alpha1.DiscordServer) { s.Spec.Description = new("Mine") })
		eventuallyDegraded(ctx, second, v1alpha1.ReasonConflict)
		create(ctx, w.token())
		eventuallyReady(ctx, first)
		Expect(discord.Guild(w.guild).Description).To(BeEmpty())
	})

	It("is edited only by its own bot when several bots work side by side", func(ctx context.Context) {
		other := newWorld(ctx)
		ready(ctx, w.server(), w.channel("", "alerts"), other.server(), other.channel("", "alerts"))
		Expect(w.edits()).To(Equal([]string{postChannel}))
		Expect(other.edits()).To(Equal([]string{postChannel}))
		Expect(discord.Guild(w.guild).Channels).To(HaveLen(1))
		Expect(discord.Guild(other.guild).Channels).To(HaveLen(1))
	})

	It("shares the Gateway connection of its bot with the bot's other servers", func(ctx context.Context) {
		ready(ctx, w.server())
		before := discord.Gateway().Stats()
		guild := discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID
		discord.AddMember(guild, w.bot.UserID, everything)
		ready(ctx, w.server(func(s *v1alpha1.DiscordServer) { s.Name, s.Spec.ServerID = "kyoto", guild }))
		Expect(discord.Gateway().Stats().Identifies).To(Equal(before.Identifies))
	})

	Describe("with settings", func() {
		It("gets all of them by one call, and keeps settings that the spec leaves out", func(ctx context.Context) {
			lounge := w.channelByHand(discordtest.Channel{Name: "Lounge", Type: discordtest.TypeVoice})
			discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) {
				g.Description, g.ExplicitContentFilter, g.PreferredLocale = "old", 2, "ja"
			})
			s := w.server(func(s *v1alpha1.DiscordServer) {
				s.Spec.Name, s.Spec.Description = "Tokyo Jujutsu High", new("")
				s.Spec.VerificationLevel, s.Spec.DefaultNotifications = v1alpha1.VerificationLevelHigh,
					v1alpha1.DefaultNotificationsOnlyMentions
				s.Spec.AFKChannelID, s.Spec.AFKTimeout = &lounge, "15m"
				s.Spec.SystemChannelFlags = []v1alpha1.SystemChannelFlag{v1alpha1.SuppressPremiumSubscriptions}
			})
			ready(ctx, s)
			Expect(w.edits()).To(Equal([]string{patchGuild}))
			Expect(discord.Guild(w.guild)).
				To(And(HaveField("Name", "Tokyo Jujutsu High"), HaveField("Description", ""), HaveField("VerificationLevel", 3),
					HaveField("DefaultNotifications", 1), HaveField("AFKChannelID", lounge), HaveField("AFKTimeout", 900),
					HaveField("ExplicitContentFilter", 2), HaveField("PreferredLocale", "ja"), HaveField("SystemChannelFlags", 2)))
			Expect(s.Status.Name).To(Equal("Tokyo Jujutsu High"))

			edit(ctx, s, func(s *v1alpha1.DiscordServer) {
				s.Spec.AFKChannelID, s.Spec.SystemChannelFlags = new(""), []v1alpha1.SystemChannelFlag{}
				s.Spec.VerificationLevel, s.Spec.DefaultNotifications = v1alpha1.VerificationLevelNone,
					v1alpha1.DefaultNotificationsAllMessages
				s.Spec.ExplicitContentFilter, s.Spec.PreferredLocale = v1alpha1.ExplicitContentFilterMembersWithoutRoles, "en-US"
			})
			eventuallyReady(ctx, s)
			Expect(w.edits()).To(HaveLen(2))
			Expect(discord.Guild(w.guild)).To(And(HaveField("AFKChannelID", ""), HaveField("VerificationLevel", 0),
				HaveField("DefaultNotifications", 0), HaveField("ExplicitContentFilter", 1),
				HaveField("PreferredLocale", "en-US"), HaveField("SystemChannelFlags", 0)))
		})

		It("waits for channels that its settings refer to, "+
			"and refers to the new channel after a user deletes a channel", func(ctx context.Context) {
			s := w.server(func(s *v1alpha1.DiscordServer) {
				s.Spec.SystemChannelRef = &v1alpha1.ChannelReference{Name: "welcome"}
				s.Spec.RulesChannelRef, s.Spec.PublicUpdatesChannelRef = s.Spec.SystemChannelRef, s.Spec.SystemChannelRef
				s.Spec.AFKChannelRef = &v1alpha1.ChannelReference{Name: "lounge"}
				s.Spec.Name = "Tokyo"
			})
			create(ctx, s)
			Expect(eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForChannel)).To(ContainSubstring("welcome"))
			Expect(s).To(HaveCondition("Available", "True", v1alpha1.ReasonOnDiscord))
			Expect(discord.Guild(w.guild).Name).To(Equal("Tokyo"), "all other settings should be applied")

			c := w.channel("", "welcome")
			ready(ctx, c)
			lounge := w.channel("", "lounge", func(c *v1alpha1.DiscordChannel) { c.Spec.Type = v1alpha1.ChannelTypeVoice })
			ready(ctx, lounge)
			eventuallyReady(ctx, s)
			Expect(discord.Guild(w.guild)).To(And(HaveField("SystemChannelID", c.Status.ChannelID),
				HaveField("RulesChannelID", c.Status.ChannelID), HaveField("PublicUpdatesChannelID", c.Status.ChannelID),
				HaveField("AFKChannelID", lounge.Status.ChannelID)))

			discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.RulesChannelID, g.AFKChannelID = "", "" })
			Eventually(ctx, func() discordtest.Guild { return discord.Guild(w.guild) }).Should(And(
				HaveField("RulesChannelID", c.Status.ChannelID), HaveField("AFKChannelID", lounge.Status.ChannelID)),
				"drift should be corrected")

			before := c.Status.ChannelID
			discord.DeleteChannelByHand(before)
			Eventually(ctx, func() string { return discord.Guild(w.guild).SystemChannelID }).
				ShouldNot(Or(BeEmpty(), Equal(before)))
			eventuallyReady(ctx, s)
			Expect(refetch(c)(ctx)).To(HaveField("Status.ChannelID", discord.Guild(w.guild).SystemChannelID))
		})

		It("is Degraded if Discord refuses a setting, and does not block its groups and channels", func(ctx context.Context) {
			s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.AFKChannelID = new("123456789012345678") })
			create(ctx, s)
			Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonRefused)).To(ContainSubstring("afk_channel_id"))
			ready(ctx, w.channel("", "alerts"))
			edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.AFKChannelID = nil })
			eventuallyReady(ctx, s)
		})
	})

	Describe("that is deleted", func() {
		It("leaves the server on Discord unchanged, with the bot as a member", func(ctx context.Context) {
			s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.Description = new("The school") })
			ready(ctx, s)
			before, guild := w.edits(), discord.Guild(w.guild)
			deleteAndWait(ctx, s)
			Expect(discord.Guild(w.guild).Members).To(HaveKey(w.bot.UserID))
			Expect(since(before, w.edits())).To(BeEmpty())
			expectSame(discord.Guild(w.guild), guild)
		})

		It("waits until its groups and channels are deleted, and names them", func(ctx context.Context) {
			s, g, c := w.server(), w.group("incidents"), w.channel("", "alerts")
			ready(ctx, s, g, c)
			deleteObjects(ctx, s)
			Expect(eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForDependents)).To(And(
				ContainSubstring("DiscordGroup incidents"), ContainSubstring("DiscordChannel alerts")))
			deleteObjects(ctx, g, c)
			eventuallyGone(ctx, allIn(ctx, w.ns)...)
			Expect(discord.Guild(w.guild).Channels).To(BeEmpty(), "the operator should delete the channels that it created")
		})

		It("is Degraded if the server cannot be deleted on Discord, and can be removed by force", func(ctx context.Context) {
			s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete })
			ready(ctx, s)
			deleteObjects(ctx, s)
			Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonDeletionFailed)).
				To(ContainSubstring(v1alpha1.ForceDeleteAnnotation + "=true"))
			forceDelete(ctx, s)
			eventuallyGone(ctx, s)
			Eventually(ctx, eventsOf(s)).Should(ContainElement("Warning Abandoned"))
			Expect(discord.Guild(w.guild).Name).To(Equal("Jujutsu High"), "the server should stay on Discord")
		})
	})
})

var _ = Describe("A DiscordServer whose bot owns the server", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{AllowGuildDeletion: true, Limits: limits()})
	})

	It("is also deleted on Discord if its deletionPolicy is Delete", func(ctx context.Context) {
		w := newWorld(ctx)
		own := discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto", OwnerID: w.bot.UserID}).ID
		ready(ctx, w.server(func(s *v1alpha1.DiscordServer) {
			s.Spec.ServerID, s.Spec.DeletionPolicy = own, v1alpha1.DeletionPolicyDelete
		}), w.channel("", "alerts"))
		operator.Restart(ctx)
		w.expectIdle(ctx)
		deleteAll(ctx, w.ns)
		Expect(w.edits()).To(ContainElement("DELETE /guilds/{guild_id}"))
	})
})
