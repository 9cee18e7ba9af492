// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func adopting(id string) func(*v1alpha1.DiscordChannel) {
	return func(c *v1alpha1.DiscordChannel) { c.Spec.Adopt = &v1alpha1.Adoption{ID: id} }
}

func groupAdopting(id string) func(*v1alpha1.DiscordGroup) {
	return func(g *v1alpha1.DiscordGroup) { g.Spec.Adopt = &v1alpha1.Adoption{ID: id} }
}

var _ = Describe("Adopting", func() {
	It("a channel and a category that match their specs makes no edit on Discord", func(ctx context.Context) {
		w := newWorld(ctx)
		group := w.categoryByHand("incidents")
		id := w.channelByHand(discordtest.Channel{Name: "alerts", ParentID: group, Topic: "What burns", NSFW: true,
			Position: 7})
		g, c := w.group("incidents", groupAdopting(group)), w.channel("incidents", "alerts", adopting(id))
		ready(ctx, w.server())
		ready(ctx, g) // one after another, so that no object waits long enough for its status to report the wait
		ready(ctx, c)
		w.expectIdle(ctx)
		Expect(w.edits()).To(BeEmpty())
		Expect(g.Status.GroupID).To(Equal(group))
		Expect(c.Status.ChannelID).To(Equal(id))
		Expect(w.writesTo("discordchannels", "alerts")).To(HaveLen(2))
		Eventually(ctx, eventsOf(c)).Should(ConsistOf("Normal Adopted", "Normal Ready"))
		Eventually(ctx, eventsOf(g)).Should(ConsistOf("Normal Adopted", "Normal Ready"))
	})

	It("succeeds although an object in a namespace without a DiscordServer "+
		"has the same id in spec.adopt", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		group := w.categoryByHand("incidents")
		id := w.channelByHand(discordtest.Channel{Name: "alerts", ParentID: group})
		create(ctx, other.group("incidents", groupAdopting(group)), other.channel("", "alerts", adopting(id)))
		ready(ctx, w.server(), w.group("incidents", groupAdopting(group)), w.channel("incidents", "alerts", adopting(id)))
	})

	It("a channel applies the spec in one call", func(ctx context.Context) {
		w := newWorld(ctx)
		id := w.channelByHand(discordtest.Channel{Name: "Old-Name", Topic: "old", NSFW: true, RateLimitPerUser: 5})
		ready(ctx, w.server(), w.group("incidents"))
		c := w.channel("incidents", "alerts", adopting(id),
			with(func(s *channelSpec) { s.Topic, s.NSFW = new("new"), new(true) }))
		ready(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, patchChannel}))
		Expect(w.bodies(patchChannel)).To(ConsistOf(And(HaveLen(3), HaveKeyWithValue("name", "alerts"),
			HaveKeyWithValue("topic", "new"), HaveKey("parent_id"))))
		Expect(on(c)).To(And(HaveField("ID", id), HaveField("RateLimitPerUser", 5)))
		w.expectInSync(ctx, c)
	})

	It("a channel with capitals in its name renames the channel once", func(ctx context.Context) {
		w := newWorld(ctx)
		id := w.channelByHand(discordtest.Channel{Name: "Alerts"})
		discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Name = "Alerts" })
		c := w.channel("", "alerts", adopting(id))
		ready(ctx, w.server(), c)
		w.expectInSync(ctx, c)
		Expect(w.edits()).To(Equal([]string{patchChannel}))
	})

	DescribeTable("an id that the object's server does not have makes the object Degraded and creates nothing",
		func(ctx context.Context, elsewhere bool) {
			w := newWorld(ctx)
			channelID, groupID := "123456789", "123456790"
			if elsewhere {
				other := discord.AddGuild(discordtest.GuildSpec{}).ID
				channelID = discord.CreateChannelByHand(other, discordtest.Channel{Name: "alerts"})
				groupID = discord.CreateChannelByHand(other, discordtest.Channel{Type: discordtest.TypeCategory, Name: "incidents"})
			}
			g, c := w.group("incidents", groupAdopting(groupID)), w.channel("", "alerts", adopting(channelID))
			create(ctx, w.server(), g, c)
			Expect(eventuallyDegraded(ctx, c, "AdoptNotFound")).To(ContainSubstring(channelID))
			Expect(eventuallyDegraded(ctx, g, "AdoptNotFound")).To(ContainSubstring(groupID))
			Expect(c).To(HaveCondition("Available", "False", "NotOnDiscord"))
			Expect(w.edits()).To(BeEmpty())
		},
		Entry("an id that exists nowhere on Discord", false),
		Entry("the id of a channel in a server without the bot", true),
	)

	It("a channel whose type differs from the object's makes the object Degraded "+
		"and changes nothing on Discord", func(ctx context.Context) {
		w := newWorld(ctx)
		voice := w.channelByHand(discordtest.Channel{Type: discordtest.TypeVoice, Name: "Lounge"})
		group := w.categoryByHand("incidents")
		c, c2, g := w.channel("", "lounge", adopting(voice)), w.channel("", "incidents", adopting(group)),
			w.group("lounge", groupAdopting(voice))
		create(ctx, w.server(), c, c2, g)
		Expect(eventuallyDegraded(ctx, c, "AdoptMismatch")).To(And(ContainSubstring(voice), ContainSubstring("Voice")))
		Expect(eventuallyDegraded(ctx, c2, "AdoptMismatch")).To(ContainSubstring("Category"))
		eventuallyDegraded(ctx, g, "AdoptMismatch")
		deleteAll(ctx, w.ns)
		Expect(w.edits()).To(BeEmpty())
	})

	It("a channel that another object adopted makes the object Degraded "+
		"until the other object is deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		id := w.channelByHand(discordtest.Channel{Name: "alerts"})
		group := w.categoryByHand("incidents")
		c, g := w.channel("", "alerts", adopting(id)), w.group("incidents", groupAdopting(group))
		ready(ctx, w.server(), c, g)
		late := w.channel("", "mine", adopting(id))
		lateGroup := w.group("mine", groupAdopting(group))
		create(ctx, late, lateGroup)
		Expect(eventuallyDegraded(ctx, late, "Conflict")).To(ContainSubstring(w.ns + "/alerts"))
		Expect(eventuallyDegraded(ctx, lateGroup, "Conflict")).To(ContainSubstring(w.ns + "/incidents"))
		Expect(w.edits()).To(BeEmpty())

		deleteObjects(ctx, c, g)
		eventuallyReady(ctx, late, lateGroup)
		Expect(on(late)).To(And(HaveField("ID", id), HaveField("Name", "mine")))
		Expect(category(lateGroup)).To(And(HaveField("ID", group), HaveField("Name", "mine")))
	})

	It("a channel that another object created makes the adopting object Degraded, "+
		"and the channel stays when the adopting object is deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		rival := w.channel("", "stolen", adopting(c.Status.ChannelID),
			with(func(s *channelSpec) { s.DeletionPolicy = v1alpha1.DeletionPolicyDelete }))
		create(ctx, rival)
		eventuallyDegraded(ctx, rival, "Conflict")
		deleteAndWait(ctx, rival)
		Expect(on(c).Name).To(Equal("alerts"))
		Expect(w.edits()).To(Equal([]string{postChannel}))
	})

	It("a channel that another object created succeeds after that object is deleted, "+
		"because the deletion leaves the channel on Discord", func(ctx context.Context) {
		w := newWorld(ctx)
		c, g := w.channel("", "alerts"), w.group("incidents")
		ready(ctx, w.server(), c, g)
		rival, rivalGroup := w.channel("", "mine", adopting(c.Status.ChannelID)), w.group("mine", groupAdopting(g.Status.GroupID))
		create(ctx, rival, rivalGroup)
		Expect(eventuallyDegraded(ctx, rival, "Conflict")).To(ContainSubstring("Delete this object; its deletion changes nothing on Discord"))
		eventuallyDegraded(ctx, rivalGroup, "Conflict")
		deleteAndWait(ctx, c, g)
		eventuallyReady(ctx, rival, rivalGroup)
		Expect(on(rival)).To(And(HaveField("ID", c.Status.ChannelID), HaveField("Name", "mine")))
		Expect(category(rivalGroup)).To(And(HaveField("ID", g.Status.GroupID), HaveField("Name", "mine")))
	})
})
