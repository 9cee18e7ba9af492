// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

type channelSpec = v1alpha1.DiscordChannelSpec

func with(change func(*channelSpec)) func(*v1alpha1.DiscordChannel) {
	return func(c *v1alpha1.DiscordChannel) { change(&c.Spec) }
}

var _ = Describe("A DiscordChannel", func() {
	It("is created by one call with all fields, and is private from its first moment", func(ctx context.Context) {
		w := newWorld(ctx)
		sensei := discord.AddRole(w.guild, "Sensei", 0)
		g := w.group("incidents")
		ready(ctx, w.server(), g)
		c := w.channel("incidents", "tokyo-incidents", with(func(s *channelSpec) {
			s.Topic, s.NSFW, s.Slowmode, s.DefaultAutoArchive = new("What burns"), new(true),
				&metav1.Duration{Duration: 90 * time.Second}, v1alpha1.AutoArchiveThreeDays
			s.Position = new(int32(3))
			s.PermissionOverwrites = []v1alpha1.PermissionOverwrite{denying("@everyone", "ViewChannel"),
				allowing("Sensei", "ViewChannel", "SendMessages")}
		}))
		ready(ctx, c)
		w.expectIdle(ctx)

		Expect(w.edits()).To(Equal([]string{postChannel, postChannel}), "one call for the group, one for the channel")
		Expect(w.bodies(postChannel)[1]).To(And(
			HaveKeyWithValue("name", "tokyo-incidents"), HaveKeyWithValue("type", 0.0),
			HaveKeyWithValue("parent_id", g.Status.GroupID),
			HaveKeyWithValue("topic", "What burns"), HaveKeyWithValue("nsfw", true),
			HaveKeyWithValue("rate_limit_per_user", 90.0),
			HaveKeyWithValue("default_auto_archive_duration", 4320.0), HaveKeyWithValue("position", 3.0),
			HaveKeyWithValue("permission_overwrites",
				ContainElement(And(HaveKeyWithValue("id", w.guild), HaveKeyWithValue("deny", "1024")))),
		))
		Expect(w.writesTo("discordchannels", c.Name)).
			To(Equal([]string{"patch discordchannels/tokyo-incidents", "patch discordchannels/tokyo-incidents/status",
				"patch discordchannels/tokyo-incidents/status"}),
				"the finalizer and the id of the named role before the create, the status after it")
		has := on(c)
		Expect(has.Overwrites).
			To(ConsistOf(discordtest.Overwrite{ID: w.guild, Deny: view}, discordtest.Overwrite{ID: sensei, Allow: view | send},
				discordtest.Overwrite{ID: w.bot.UserID, Type: 1, Allow: view}))
		has.Overwrites = nil
		Expect(has).To(Equal(discordtest.Channel{
			ID: c.Status.ChannelID, GuildID: w.guild, ParentID: g.Status.GroupID, Name: "tokyo-incidents", Topic: "What burns",
			Position: 3, NSFW: true,
			RateLimitPerUser: 90, DefaultAutoArchive: 4320,
		}))
		Expect(c.Status).To(And(HaveField("ServerID", w.guild), HaveField("GroupID", g.Status.GroupID),
			HaveField("ServerRef.Name", "jujutsu"),
			HaveField("ChannelURL", discord.URL()+"/channels/"+w.guild+"/"+c.Status.ChannelID)))
		Eventually(ctx, eventsOf(c)).Should(ConsistOf("Normal Created", "Normal Ready"))
		w.expectInSync(ctx, c)
	})

	It("waits for its server and its group, and names them in its status", func(ctx context.Context) {
		w := newWorld(ctx)
		c, g := w.channel("incidents", "alerts"), w.group("incidents")
		create(ctx, c)
		Expect(eventuallyProgressing(ctx, c, "WaitingForGroup")).To(ContainSubstring("incidents"))
		create(ctx, g)
		Expect(eventuallyProgressing(ctx, g, "WaitingForServer")).To(ContainSubstring("jujutsu"))
		Expect(eventuallyProgressing(ctx, c, "WaitingForServer")).To(ContainSubstring("jujutsu"))
		Expect(w.calls()).To(BeEmpty())
		ready(ctx, w.server())
		eventuallyReady(ctx, c)
	})

	It("outside of any group is created outside of any category", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "general")
		ready(ctx, w.server(), c)
		Expect(w.bodies(postChannel)).To(ConsistOf(Not(HaveKey("parent_id"))))
		Expect(on(c).ParentID).To(BeEmpty())
		Expect(c.Status.GroupID).To(BeEmpty())
	})

	It("adopts no user's channel of the same name, neither in its group's category nor outside", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b := w.group("a"), w.group("b")
		ready(ctx, w.server(), a, b)
		unowned := []string{
			w.channelByHand(discordtest.Channel{Name: "alerts"}),
			w.channelByHand(discordtest.Channel{Name: "alerts", ParentID: a.Status.GroupID}),
		}
		first := w.channel("a", "alerts")
		second := w.channel("b", "alerts", func(c *v1alpha1.DiscordChannel) { c.Name = "alerts-of-b" })
		ready(ctx, first, second)
		Expect([]string{first.Status.ChannelID, second.Status.ChannelID}).NotTo(ContainElement(BeElementOf(unowned)))
		Expect(w.idsNamed("alerts")).To(ConsistOf(append(unowned, first.Status.ChannelID, second.Status.ChannelID)))
	})

	It("is edited by one call with exactly the fields that differ", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", with(func(s *channelSpec) { s.Topic, s.NSFW = new("What burns"), new(false) }))
		ready(ctx, w.server(), c)
		edit(ctx, c, with(func(s *channelSpec) {
			s.Name, s.Topic, s.DefaultAutoArchive, s.Slowmode = "incidents", new("What burns now"), v1alpha1.AutoArchiveOneWeek,
				&metav1.Duration{Duration: time.Minute}
		}))
		eventuallyReady(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, patchChannel}))
		Expect(w.bodies(patchChannel)).To(Equal([]map[string]any{{
			"name": "incidents", "topic": "What burns now", "default_auto_archive_duration": 10080.0,
			"rate_limit_per_user": 60.0,
		}}))
		w.expectInSync(ctx, c)
	})

	It("loses its topic when spec.topic is empty, "+
		"and keeps values of fields that the spec leaves out", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", with(func(s *channelSpec) { s.Topic = new("What burns") }))
		ready(ctx, w.server(), c)
		discord.EditChannelByHand(c.Status.ChannelID,
			func(ch *discordtest.Channel) { ch.NSFW, ch.RateLimitPerUser, ch.DefaultAutoArchive = true, 30, 60 })
		edit(ctx, c, with(func(s *channelSpec) { s.Topic = new("") }))
		eventuallyReady(ctx, c)
		Expect(w.bodies(patchChannel)).To(Equal([]map[string]any{{"topic": nil}}))
		Expect(on(c)).To(And(HaveField("Topic", ""), HaveField("NSFW", true), HaveField("RateLimitPerUser", 30),
			HaveField("DefaultAutoArchive", 60)))

		edit(ctx, c, with(func(s *channelSpec) { s.Topic = nil }))
		eventuallyReady(ctx, c)
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Topic = "by hand" })
		w.expectInSync(ctx, c)
		Expect(on(c).Topic).To(Equal("by hand"))
	})

	It("stays the same channel on Discord when it moves to another group, "+
		"to no group, and back", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b, c := w.group("a"), w.group("b"), w.channel("a", "alerts")
		ready(ctx, w.server(), a, b, c)
		id := c.Status.ChannelID
		for _, to := range []struct{ group, category string }{{"b", b.Status.GroupID}, {"", ""}, {"a", a.Status.GroupID}} {
			edit(ctx, c, with(func(s *channelSpec) {
				s.GroupRef, s.ServerRef = w.channel(to.group, "alerts").Spec.GroupRef, w.channel(to.group, "alerts").Spec.ServerRef
			}))
			eventuallyReady(ctx, c)
			Expect(on(c).ParentID).To(Equal(to.category))
			Expect(c.Status).To(And(HaveField("ChannelID", id), HaveField("GroupID", to.category)))
		}
		Expect(w.bodies(patchChannel)).
			To(Equal([]map[string]any{{"parent_id": b.Status.GroupID}, {"parent_id": nil}, {"parent_id": a.Status.GroupID}}))
		w.expectInSync(ctx, c)
	})

	It("is Degraded while groupRef names a group of another server, "+
		"and stays in its old category", func(ctx context.Context) {
		w := newWorld(ctx)
		other := discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID
		discord.AddMember(other, w.bot.UserID, everything)
		a, far, c := w.group("a"), w.group("far", func(g *v1alpha1.DiscordGroup) { g.Spec.ServerRef.Name = "kyoto" }),
			w.channel("a", "alerts")
		ready(ctx, w.server(), w.server(func(s *v1alpha1.DiscordServer) { s.Name, s.Spec.ServerID = "kyoto", other }), a,
			far, c)
		edit(ctx, c, with(func(s *channelSpec) { s.GroupRef.Name = "far" }))
		Expect(eventuallyDegraded(ctx, c, "ServerMismatch")).
			To(And(ContainSubstring(w.guild), ContainSubstring(other), ContainSubstring("kyoto")))
		Expect(c).To(HaveCondition("Available", "True", "OnDiscord"))
		Expect(on(c).ParentID).To(Equal(a.Status.GroupID))
		edit(ctx, c, with(func(s *channelSpec) { s.GroupRef.Name = "a" }))
		eventuallyReady(ctx, c)
		Expect(w.bodies(patchChannel)).To(BeEmpty())
	})

	DescribeTable("is converted between a text and an announcement channel if the server allows announcements",
		func(ctx context.Context, created, wanted v1alpha1.ChannelType, kind float64) {
			w := newWorld(ctx)
			discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"COMMUNITY", "NEWS"} })
			c := w.channel("", "news", with(func(s *channelSpec) { s.Type = created }))
			ready(ctx, w.server(), c)
			id := c.Status.ChannelID
			edit(ctx, c, with(func(s *channelSpec) { s.Type = wanted }))
			eventuallyReady(ctx, c)
			Expect(c.Status.ChannelID).To(Equal(id))
			Expect(w.bodies(patchChannel)).To(Equal([]map[string]any{{"type": kind}}))
			Expect(on(c).Type).To(BeEquivalentTo(kind))
			w.expectInSync(ctx, c)
		},
		Entry("from Text to Announcement", v1alpha1.ChannelTypeText, v1alpha1.ChannelTypeAnnouncement, 5.0),
		Entry("from no type to Announcement", v1alpha1.ChannelType(""), v1alpha1.ChannelTypeAnnouncement, 5.0),
		Entry("from Announcement to Text", v1alpha1.ChannelTypeAnnouncement, v1alpha1.ChannelTypeText, 0.0),
	)

	DescribeTable("is Degraded, and is neither created nor edited, until the server allows announcements",
		func(ctx context.Context, before bool) {
			w := newWorld(ctx)
			c := w.channel("", "news", with(func(s *channelSpec) { s.Type = v1alpha1.ChannelTypeAnnouncement }))
			if before {
				c.Spec.Type = v1alpha1.ChannelTypeText
				ready(ctx, w.server(), c)
				edit(ctx, c, with(func(s *channelSpec) { s.Type = v1alpha1.ChannelTypeAnnouncement }))
			} else {
				ready(ctx, w.server())
				create(ctx, c)
			}
			edits := len(w.edits())
			Expect(eventuallyDegraded(ctx, c, "AnnouncementsNotAllowed")).To(ContainSubstring("Community"))
			Expect(w.edits()).To(HaveLen(edits), "no call that Discord would refuse")
			discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"COMMUNITY", "NEWS"} })
			eventuallyReady(ctx, c)
			Expect(on(c).Type).To(Equal(discordtest.TypeAnnouncement))
		},
		Entry("a new announcement channel", false),
		Entry("a text channel that the spec changes to an announcement channel", true),
	)

	It("is not renamed again when Discord stores its name in another form", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(), Normalise: func(name string) string {
			return strings.ReplaceAll(discordtest.NormaliseName(name), "_", "-")
		}}, "--resync-period=1s")
		w := newWorld(ctx)
		c := w.channel("", "on-call", with(func(s *channelSpec) { s.Name = "on_call" }))
		ready(ctx, w.server(), c)
		renames := func() int { return len(w.bodies(patchChannel)) }
		Consistently(renames).WithTimeout(3*time.Second).Should(BeZero(), "a resync should not rename the channel")

		edit(ctx, c, with(func(s *channelSpec) { s.Name = "on_fire" }))
		eventuallyReady(ctx, c)
		Expect(on(c).Name).To(Equal("on-fire"))
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Name = "quiet" })
		Eventually(func() string { return on(c).Name }).Should(Equal("on-fire"),
			"a user's change of the name is still corrected")
		Consistently(renames).WithTimeout(3 * time.Second).Should(Equal(2))
	})

	It("stays Available while its webhooks cannot be read", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", withWebhook)
		ready(ctx, w.server(), c)
		for _, route := range []string{"GET /channels/{channel_id}/webhooks", "GET /guilds/{guild_id}/webhooks"} {
			// Send invalid JSON, because three errors with status 500 in a row would delay other calls.
			w.fault(discordtest.Fault{Route: route, Action: discordtest.Garbage()})
		}
		discord.CreateWebhookByHand(c.Status.ChannelID, "a user's") // the event makes the operator read the webhooks again
		Eventually(ctx, refetch(c)).Should(HaveCondition(v1alpha1.TypeVerified, "False", "Retrying"))
		Expect(c).To(And(HaveCondition("Ready", "True", "Reconciled"), HaveCondition("Available", "True", "OnDiscord")))
		edit(ctx, c, with(func(s *channelSpec) { s.NSFW = new(true) }))
		eventuallyProgressing(ctx, c, "Retrying") // the operator cannot know whether the channel matches this spec
		Expect(c).To(HaveCondition("Available", "True", "OnDiscord"))
		Eventually(func() bool { return on(c).NSFW }).Should(BeTrue(), "the operator should still apply the settings")
		discord.Faults().Clear()
		edit(ctx, c, func(o *v1alpha1.DiscordChannel) { o.Annotations = map[string]string{"now": "again"} })
		eventuallyReady(ctx, c)
		Expect(w.bodies(postWebhook)).To(HaveLen(1), "a webhook that cannot be read does not count as deleted")
	})
})
