// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("A DiscordGroup", func() {
	It("is created by one call with all fields, and may have a name with spaces and an emoji", func(ctx context.Context) {
		w := newWorld(ctx)
		sensei := discord.AddRole(w.guild, "Sensei", 0)
		ready(ctx, w.server())
		g := w.group("incidents", func(g *v1alpha1.DiscordGroup) {
			g.Spec.Name, g.Spec.Position = "Incidents & Fire 🔥", new(int32(2))
			g.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{allowing("Sensei", "SendMessages")}
		})
		ready(ctx, g)
		w.expectIdle(ctx)
		Expect(w.edits()).To(Equal([]string{postChannel}))
		Expect(category(g)).To(Equal(discordtest.Channel{
			ID: g.Status.GroupID, GuildID: w.guild, Type: discordtest.TypeCategory, Name: "Incidents & Fire 🔥", Position: 2,
			Overwrites: []discordtest.Overwrite{{ID: sensei, Allow: discordtest.PermSendMessages}},
		}))
		Expect(w.writesTo("discordgroups", "incidents")).
			To(Equal([]string{"patch discordgroups/incidents", "patch discordgroups/incidents/status",
				"patch discordgroups/incidents/status"}), "the id of the named role is stored before the create")
		Expect(g.Status.ServerID).To(Equal(w.guild))
		Eventually(ctx, eventsOf(g)).Should(ConsistOf("Normal Created", "Normal Ready"))
		w.expectInSync(ctx, g)
	})

	It("has a category of its own, even if other categories have the same name", func(ctx context.Context) {
		w := newWorld(ctx)
		unowned := w.categoryByHand("Incidents")
		called := func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "Incidents" }
		a, b := w.group("a", called), w.group("b", called)
		ready(ctx, w.server(), a, b)
		Expect(w.idsNamed("Incidents")).To(ConsistOf(unowned, a.Status.GroupID, b.Status.GroupID))
	})

	It("is edited by one call with exactly the fields that differ", func(ctx context.Context) {
		w := newWorld(ctx)
		g := w.group("incidents")
		ready(ctx, w.server(), g)
		edit(ctx, g, func(g *v1alpha1.DiscordGroup) {
			g.Spec.Name, g.Spec.PermissionOverwrites = "Fire",
				[]v1alpha1.PermissionOverwrite{denying("@everyone", "SendMessages")}
		})
		eventuallyReady(ctx, g)
		edit(ctx, g, func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "Smoke" })
		eventuallyReady(ctx, g)
		Expect(w.edits()).To(Equal([]string{postChannel, patchChannel, patchChannel}))
		Expect(w.bodies(patchChannel)[0]).To(And(HaveLen(2), HaveKey("name"), HaveKey("permission_overwrites")))
		Expect(w.bodies(patchChannel)[1]).To(Equal(map[string]any{"name": "Smoke"}))
		w.expectInSync(ctx, g)
	})

	It("gets a new category after a user deletes its category, "+
		"and its channels move into the new category", func(ctx context.Context) {
		w := newWorld(ctx)
		g, a, b := w.group("incidents"), w.channel("incidents", "a", withWebhook), w.channel("incidents", "b")
		ready(ctx, w.server(), g, a, b)
		before, ids := g.Status.GroupID, []string{a.Status.ChannelID, b.Status.ChannelID}
		discord.DeleteChannelByHand(before)
		Eventually(ctx, refetch(g)).Should(HaveField("Status.GroupID", Not(Equal(before))))
		for _, c := range []*v1alpha1.DiscordChannel{a, b} {
			Eventually(ctx, refetch(c)).Should(HaveField("Status.GroupID", g.Status.GroupID))
			eventuallyReady(ctx, c)
			Expect(on(c).ParentID).To(Equal(g.Status.GroupID))
		}
		eventuallyReady(ctx, g)
		Expect([]string{a.Status.ChannelID, b.Status.ChannelID}).
			To(Equal(ids), "the channels, with their messages, should be the same")
		Expect(w.idsNamed("incidents")).To(ConsistOf(g.Status.GroupID))
		Expect(w.audited(channelCreated)).To(Equal(4), "two categories and two channels in all")
		Eventually(ctx, eventsOf(g)).Should(ContainElement("Warning Recreated"))
	})

	It("gets a new category with a new channel "+
		"after a user deletes its category and its channel", func(ctx context.Context) {
		w := newWorld(ctx)
		g, c := w.group("incidents"), w.channel("incidents", "alerts", withWebhook)
		ready(ctx, w.server(), g, c)
		beforeG, beforeC, hook := g.Status.GroupID, c.Status.ChannelID, c.Status.Webhook.ID
		discord.DeleteChannelByHand(beforeC)
		discord.DeleteChannelByHand(beforeG)
		Eventually(ctx, refetch(g)).Should(HaveField("Status.GroupID", Not(Equal(beforeG))))
		Eventually(ctx, refetch(c)).
			Should(And(HaveField("Status.ChannelID", Not(Equal(beforeC))), HaveField("Status.GroupID", g.Status.GroupID),
				HaveField("Status.Webhook.ID", Not(Equal(hook)))))
		eventuallyReady(ctx, c)
		Expect(on(c).ParentID).To(Equal(g.Status.GroupID))
		Expect(w.idsNamed("alerts")).To(HaveLen(1))
	})
})
