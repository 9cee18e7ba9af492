// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const (
	view = discordtest.PermViewChannel
	send = discordtest.PermSendMessages
)

func withOverwrites(list ...v1alpha1.PermissionOverwrite) func(*v1alpha1.DiscordChannel) {
	return func(c *v1alpha1.DiscordChannel) {
		c.Spec.PermissionOverwrites = append([]v1alpha1.PermissionOverwrite{}, list...)
	}
}

func groupOverwrites(list ...v1alpha1.PermissionOverwrite) func(*v1alpha1.DiscordGroup) {
	return func(g *v1alpha1.DiscordGroup) {
		g.Spec.PermissionOverwrites = append([]v1alpha1.PermissionOverwrite{}, list...)
	}
}

var _ = Describe("Permission overwrites", func() {
	It("apply to roles by name or id, to @everyone and to users, "+
		"and another order causes no edit", func(ctx context.Context) {
		w := newWorld(ctx)
		sensei, student, idle := discord.AddRole(w.guild, "Sensei", 0), discord.AddRole(w.guild, "Student", 0),
			discord.AddRole(w.guild, "Idle", 0)
		yuji := discord.AddUser("Yuji")
		discord.AddMember(w.guild, yuji, 0)
		list := []v1alpha1.PermissionOverwrite{
			{User: yuji, Allow: []v1alpha1.Permission{"SendMessages"}}, allowing("Sensei", "SendMessages", "ViewChannel"),
			denying(student, "SendMessages"),
			{Role: "Idle"}, denying("@everyone", "ManageWebhooks"),
		}
		want := ConsistOf(
			discordtest.Overwrite{ID: yuji, Type: 1, Allow: send}, discordtest.Overwrite{ID: sensei, Allow: send | view},
			discordtest.Overwrite{ID: student, Deny: send},
			discordtest.Overwrite{ID: idle}, discordtest.Overwrite{ID: w.guild, Deny: discordtest.PermManageWebhooks},
		)
		created, edited, g := w.channel("", "created", withOverwrites(list...)), w.channel("", "edited"),
			w.group("group", groupOverwrites(list...))
		ready(ctx, w.server(), created, edited, g)
		edit(ctx, edited, withOverwrites(list...))
		eventuallyReady(ctx, edited)
		for _, has := range [][]discordtest.Overwrite{on(created).Overwrites, on(edited).Overwrites, category(g).Overwrites} {
			Expect(has).To(want)
		}
		w.expectInSync(ctx, created, edited, g)

		By("writing the same overwrites in another order")
		edit(ctx, created, withOverwrites(denying("@everyone", "ManageWebhooks"),
			allowing("Sensei", "ViewChannel", "SendMessages"), v1alpha1.PermissionOverwrite{Role: "Idle"},
			denying("Student", "SendMessages"),
			v1alpha1.PermissionOverwrite{User: yuji, Allow: []v1alpha1.Permission{"SendMessages"}}))
		eventuallyReady(ctx, created)
		w.expectInSync(ctx, created)
		Expect(w.bodies(patchChannel)).To(HaveLen(1), "only the edit that added the overwrites")
	})

	It("that are not in the spec are removed by the call that sets the overwrites of the spec", func(ctx context.Context) {
		w := newWorld(ctx)
		sensei, student := discord.AddRole(w.guild, "Sensei", 0), discord.AddRole(w.guild, "Student", 0)
		id := w.channelByHand(discordtest.Channel{Name: "alerts",
			Overwrites: []discordtest.Overwrite{{ID: student, Allow: send}, {ID: sensei, Deny: send}}})
		c := w.channel("", "alerts", adopting(id), withOverwrites(allowing("Sensei", "ViewChannel")))
		ready(ctx, w.server(), c)
		Expect(on(c).Overwrites).To(Equal([]discordtest.Overwrite{{ID: sensei, Allow: view}}))
		Expect(w.edits()).To(Equal([]string{patchChannel}))

		discord.EditChannelByHand(id, func(c *discordtest.Channel) {
			c.Overwrites = append(c.Overwrites, discordtest.Overwrite{ID: student, Allow: send})
		})
		Eventually(func() []discordtest.Overwrite { return on(c).Overwrites }).
			Should(Equal([]discordtest.Overwrite{{ID: sensei, Allow: view}}))
		Expect(w.edits()).To(Equal([]string{patchChannel, patchChannel}))
		Eventually(ctx, eventsOf(c)).Should(ContainElement("Normal DriftCorrected"))
	})

	It("are all removed if the spec has an empty list, and stay if the spec has no list", func(ctx context.Context) {
		w := newWorld(ctx)
		sensei := discord.AddRole(w.guild, "Sensei", 0)
		has := []discordtest.Overwrite{{ID: sensei, Allow: send}}
		cleared := w.channel("", "cleared", adopting(w.channelByHand(discordtest.Channel{Name: "cleared", Overwrites: has})),
			withOverwrites())
		kept := w.channel("", "kept", adopting(w.channelByHand(discordtest.Channel{Name: "kept", Overwrites: has})))
		group := w.group("cleared", groupAdopting(w.channelByHand(discordtest.Channel{
			Type: discordtest.TypeCategory, Name: "cleared", Overwrites: has,
		})), groupOverwrites())
		ready(ctx, w.server(), cleared, kept, group)
		Expect(on(cleared).Overwrites).To(BeEmpty())
		Expect(category(group).Overwrites).To(BeEmpty())
		Expect(on(kept).Overwrites).To(Equal(has))
		w.expectInSync(ctx, cleared, kept, group)
	})

	It("that a channel inherits from its group cause no edit of the channel", func(ctx context.Context) {
		w := newWorld(ctx)
		sensei := discord.AddRole(w.guild, "Sensei", 0)
		g := w.group("incidents", groupOverwrites(allowing("Sensei", "SendMessages")))
		c := w.channel("incidents", "alerts")
		ready(ctx, w.server(), g, c)
		Expect(on(c).Overwrites).
			To(Equal([]discordtest.Overwrite{{ID: sensei, Allow: send}}), "a new channel gets its category's overwrites")
		edit(ctx, g, groupOverwrites(denying("Sensei", "SendMessages")))
		eventuallyReady(ctx, g)
		Expect(on(c).Overwrites).To(Equal([]discordtest.Overwrite{{ID: sensei, Deny: send}}),
			"a channel that is synchronized with its category follows it")
		w.expectInSync(ctx, g, c)
		Expect(w.bodies(patchChannel)).To(HaveLen(1), "only the edit of the category")
	})

	It("of a group are not copied to a new channel whose spec has an empty list", func(ctx context.Context) {
		w := newWorld(ctx)
		discord.AddRole(w.guild, "Sensei", 0)
		g := w.group("incidents", groupOverwrites(allowing("Sensei", "SendMessages")))
		c := w.channel("incidents", "alerts", withOverwrites())
		ready(ctx, w.server(), g, c)
		Expect(on(c).Overwrites).To(BeEmpty())
		w.expectInSync(ctx, c)
	})

	It("that exclude the bot are completed by an overwrite that admits the bot", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "private", withOverwrites(denying("@everyone", "ViewChannel")), withWebhook)
		g := w.group("secret", groupOverwrites(denying("@everyone", "ViewChannel")))
		inside := w.channel("secret", "inside")
		ready(ctx, w.server(), c, g, inside)
		letIn := ContainElement(And(HaveField("ID", w.bot.UserID), HaveField("Type", 1),
			HaveField("Allow", Satisfy(func(p discordtest.Permissions) bool { return p.Has(view) }))))
		Expect(on(c).Overwrites).To(And(HaveLen(2), letIn))
		Expect(category(g).Overwrites).To(And(HaveLen(2), letIn))
		edit(ctx, c, with(func(s *channelSpec) { s.Name = "renamed" }))
		edit(ctx, inside, with(func(s *channelSpec) { s.Name = "renamed-too" }))
		eventuallyReady(ctx, c, inside)
		w.expectInSync(ctx, c, g, inside)
	})

	DescribeTable("for a missing role or an ambiguous role name make the object Degraded without a write to Discord",
		func(ctx context.Context, exists bool) {
			w := newWorld(ctx)
			c, g := w.channel("", "alerts"), w.group("incidents")
			ready(ctx, w.server())
			if exists {
				ready(ctx, c, g)
			}
			of := func(role string) []v1alpha1.PermissionOverwrite {
				return []v1alpha1.PermissionOverwrite{allowing(role, "SendMessages")}
			}
			if exists {
				edit(ctx, c, withOverwrites(of("Sensei")...))
				edit(ctx, g, groupOverwrites(of("Sensei")...))
			} else {
				c.Spec.PermissionOverwrites, g.Spec.PermissionOverwrites = of("Sensei"), of("Sensei")
				create(ctx, c, g)
			}
			edits := len(w.edits())
			Expect(eventuallyDegraded(ctx, c, "RoleNotFound")).To(ContainSubstring(`"Sensei"`))
			eventuallyDegraded(ctx, g, "RoleNotFound")
			Expect(w.edits()).To(HaveLen(edits))

			first, second := discord.AddRole(w.guild, "Student", 0), discord.AddRole(w.guild, "Student", 0)
			edit(ctx, c, withOverwrites(of("Student")...))
			edit(ctx, g, groupOverwrites(of("Student")...))
			Expect(eventuallyDegraded(ctx, c, "AmbiguousRole")).To(And(ContainSubstring(first), ContainSubstring(second)))
			eventuallyDegraded(ctx, g, "AmbiguousRole")
			Expect(w.edits()).To(HaveLen(edits))
			discord.DeleteRole(w.guild, first)
			eventuallyReady(ctx, c, g)
			Expect(on(c).Overwrites).To(Equal([]discordtest.Overwrite{{ID: second, Allow: send}}))
		},
		Entry("a new object", false),
		Entry("an existing object", true),
	)

	It("of permissions that the bot lacks make the object Degraded, "+
		"without an edit on Discord, until the bot gets them", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		edit(ctx, c, withOverwrites(denying("@everyone", "MentionEveryone", "PinMessages")))
		Expect(eventuallyDegraded(ctx, c, "MissingPermissions")).
			To(And(ContainSubstring("MentionEveryone"), ContainSubstring("PinMessages")))
		Expect(w.bodies(patchChannel)).To(BeEmpty())
		discord.SetPermissions(w.guild, w.bot.UserID, everything|1<<17|1<<51)
		eventuallyReady(ctx, c)
	})
})
