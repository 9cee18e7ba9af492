// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func observing(objects ...client.Object) {
	for _, o := range objects {
		setPolicy(o, v1alpha1.ManagementPolicyObserve)
	}
}

func setPolicy(o client.Object, policy v1alpha1.ManagementPolicy) {
	switch o := o.(type) {
	case *v1alpha1.DiscordServer:
		o.Spec.ManagementPolicy = policy
	case *v1alpha1.DiscordGroup:
		o.Spec.ManagementPolicy = policy
	case *v1alpha1.DiscordChannel:
		o.Spec.ManagementPolicy = policy
	case *v1alpha1.DiscordRole:
		o.Spec.ManagementPolicy = policy
	}
}

func manages(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		edit(ctx, o, func(o client.Object) { setPolicy(o, v1alpha1.ManagementPolicyManage) })
	}
	for _, o := range objects {
		Eventually(ctx, refetch(o)).Should(And(HaveCondition("Ready", "True", "Reconciled"), differing()))
	}
}

func differing(lines ...string) OmegaMatcher {
	return WithTransform(func(o client.Object) []string {
		return o.(interface{ GetDifferences() []string }).GetDifferences()
	}, HaveExactElements(asAny(lines)...))
}

func asAny(lines []string) (all []any) {
	for _, line := range lines {
		all = append(all, line)
	}
	return all
}

func eventuallyDiffers(ctx context.Context, o client.Object, lines ...string) {
	GinkgoHelper()
	status, reason := "True", v1alpha1.ReasonObserved
	if len(lines) > 0 {
		status, reason = "False", v1alpha1.ReasonDifferencesFound
	}
	Eventually(ctx, refetch(o)).Should(And(differing(lines...), HaveCondition(v1alpha1.TypeInSync, status, reason),
		HaveCondition("Ready", "True", reason), HaveCondition("Available", "True", "")), "%T %s", o, o.GetName())
}

var _ = Describe("An object with managementPolicy Observe", func() {
	It("of any kind lists the differences between spec and Discord, "+
		"and writes nothing to Discord", func(ctx context.Context) {
		w := newWorld(ctx)
		yuji := w.user("Yuji")
		category := w.categoryByHand("incidents")
		channel := w.channelByHand(discordtest.Channel{Name: "alerts", ParentID: category, Topic: "old"})
		roleID := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "on-call", Color: 7})
		s, g := w.server(), w.group("incidents", groupAdopting(category))
		c := w.channel("incidents", "alerts", adopting(channel), withWebhook)
		r := w.role("on-call", func(s *roleSpec) { s.Adopt = &v1alpha1.Adoption{ID: roleID} })
		observing(s, g, c, r)
		create(ctx, s, g, c, r)
		eventuallyDiffers(ctx, s)
		eventuallyDiffers(ctx, g)
		eventuallyDiffers(ctx, c, `create webhook "alertmanager"`)
		eventuallyDiffers(ctx, r)

		By("listing differences after edits of the specs")
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.Name, s.Spec.VerificationLevel = "Renamed", "High" })
		edit(ctx, g, func(g *v1alpha1.DiscordGroup) {
			g.Spec.Name = "renamed"
			g.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{denying("@everyone", "SendMessages")}
		})
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) {
			c.Spec.Topic, c.Spec.Webhook = new("new"), nil
			slowmode(90)(c)
		})
		edit(ctx, r, func(r *v1alpha1.DiscordRole) {
			r.Spec.Color, r.Spec.Permissions = new("#E67E22"), []v1alpha1.Permission{"SendMessages"}
			r.Spec.Members = []v1alpha1.UserID{v1alpha1.UserID(yuji)}
		})
		eventuallyDiffers(ctx, s, `name: "Jujutsu High" -> "Renamed"`, "verificationLevel: None -> High")
		eventuallyDiffers(ctx, g, `name: "incidents" -> "renamed"`,
			`permissionOverwrites of role "@everyone": none -> allow none, deny SendMessages`)
		eventuallyDiffers(ctx, c, `topic: "old" -> "new"`, "slowmode: 0s -> 1m30s")
		eventuallyDiffers(ctx, r, "color: #000007 -> #E67E22", "permissions: none -> SendMessages", "members: give to user "+yuji)
		Eventually(ctx, eventsOf(c)).Should(ContainElement("Normal DifferencesFound"))

		By("listing differences after edits on Discord")
		discord.EditChannelByHand(channel, func(c *discordtest.Channel) { c.Topic, c.Name = "new", "by-hand" })
		eventuallyDiffers(ctx, c, `name: "by-hand" -> "alerts"`, "slowmode: 0s -> 1m30s")
		discord.EditChannelByHand(channel, func(c *discordtest.Channel) { c.RateLimitPerUser, c.Name = 90, "alerts" })
		eventuallyDiffers(ctx, c)
		w.expectInSync(ctx, s, g, c, r)
		Expect(w.edits()).To(BeEmpty(), "nothing may be written to Discord")
		Expect(scrape(ctx)).To(ContainSubstring(
			`discord_object_differences{kind="DiscordServer",name="jujutsu",namespace="` + w.ns + `"} 2`))

		By("applying the specs when the objects are managed again")
		manages(ctx, s)
		manages(ctx, g, c, r)
		Expect(discord.Guild(w.guild).Name).To(Equal("Renamed"))
		Expect(on(c)).To(And(HaveField("Topic", "new"), HaveField("RateLimitPerUser", 90)))
		Expect(w.roleOn(r)().Color).To(Equal(0xE67E22))
		Eventually(w.has(yuji)).Should(ConsistOf(roleID))
		w.expectInSync(ctx, s, g, c, r)
	})

	It("reports a missing channel, category or role, "+
		"and creates it once managementPolicy is Manage", func(ctx context.Context) {
		w := newWorld(ctx)
		byName := w.channelByHand(discordtest.Channel{Name: "alerts"})
		g, c, r := w.group("incidents"), w.channel("", "alerts"), w.role("on-call")
		observing(g, c, r)
		ready(ctx, w.server())
		create(ctx, g, c, r)
		for _, o := range []client.Object{g, c, r} {
			Expect(eventuallyDegraded(ctx, o, v1alpha1.ReasonNothingToObserve)).To(ContainSubstring("set spec.managementPolicy to Manage"))
			Expect(o).To(And(differing("create"), HaveCondition(v1alpha1.TypeInSync, "False", v1alpha1.ReasonDifferencesFound),
				HaveCondition("Available", "False", v1alpha1.ReasonNotOnDiscord)))
			Expect(o.GetFinalizers()).To(BeEmpty())
		}
		Expect(message(c, "Degraded")).To(ContainSubstring("with the object's name: id " + byName))
		w.expectInSync(ctx, g, c, r)
		Expect(w.edits()).To(BeEmpty())
		manages(ctx, g, c, r)
		Expect(w.edits()).To(ConsistOf(postChannel, postChannel, postRole))
		Expect(c.Status.ChannelID).NotTo(Equal(byName))
	})

	It("lists a move if its position in the spec has changed, "+
		"and a create if its channel is deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		at := func(n int32) func(*v1alpha1.DiscordChannel) {
			return func(c *v1alpha1.DiscordChannel) { c.Spec.Position = &n }
		}
		a, b := w.channel("", "a", at(1)), w.channel("", "b", at(2))
		low, high := w.role("low", func(s *roleSpec) { s.Position = new(int32(2)) }),
			w.role("high", func(s *roleSpec) { s.Position = new(int32(1)) })
		ready(ctx, w.server(), a, b, low, high)
		w.expectIdle(ctx)
		before := w.edits()
		for _, o := range []client.Object{a, b, low, high} {
			edit(ctx, o, func(o client.Object) { observing(o) })
			eventuallyDiffers(ctx, o)
		}
		edit(ctx, a, func(c *v1alpha1.DiscordChannel) { at(3)(c) })
		eventuallyDiffers(ctx, a, `move below "b"`)
		edit(ctx, low, func(r *v1alpha1.DiscordRole) { r.Spec.Position = new(int32(0)) })
		eventuallyDiffers(ctx, low, `move above "high"`)
		w.expectIdle(ctx)
		discord.DeleteChannelByHand(b.Status.ChannelID)
		eventuallyDegraded(ctx, b, v1alpha1.ReasonNothingToObserve)
		Expect(b).To(differing("create"))
		Expect(since(before, w.edits())).To(BeEmpty())
		manages(ctx, a, b, low, high)
		Expect(w.namesIn("")).To(Equal([]string{"b", "a"}))
	})

	It("leaves its channel, category, role and webhook on Discord when it is deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g, c, r := w.server(), w.group("incidents"), w.channel("incidents", "alerts", withWebhook), w.role("on-call")
		c.Spec.DeletionPolicy, g.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyDelete
		ready(ctx, s, g, c, r)
		for _, o := range []client.Object{s, g, c, r} {
			edit(ctx, o, func(o client.Object) { observing(o) })
			eventuallyDiffers(ctx, o)
		}
		w.expectIdle(ctx)
		before, guild := w.edits(), discord.Guild(w.guild)
		deleteAndWait(ctx, r, c, g, s)
		Expect(since(before, w.edits())).To(BeEmpty())
		expectSame(discord.Guild(w.guild), guild)
	})

	It("needs no permission to edit, and lets another object manage the same channel", func(ctx context.Context) {
		w := newWorld(ctx)
		discord.SetPermissions(w.guild, w.bot.UserID, discordtest.PermViewChannel)
		id := w.channelByHand(discordtest.Channel{Name: "alerts", Topic: "old"})
		s, c := w.server(), w.channel("", "alerts", adopting(id), with(func(s *channelSpec) { s.Topic = new("new") }))
		observing(s, c)
		create(ctx, s, c)
		eventuallyDiffers(ctx, s)
		eventuallyDiffers(ctx, c, `topic: "old" -> "new"`)
		Expect(w.edits()).To(BeEmpty())
		discord.SetPermissions(w.guild, w.bot.UserID, everything)
		manager := w.channel("", "alerts", adopting(id), with(func(s *channelSpec) { s.Topic = new("new") }))
		manager.Name = "manager"
		ready(ctx, manager)
		// Start a reconcile of c: the operator's own edits on Discord start no reconcile of c.
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Annotations = map[string]string{"now": "again"} })
		eventuallyDiffers(ctx, c)
		setPolicyOf := func(o *v1alpha1.DiscordChannel) { setPolicy(o, v1alpha1.ManagementPolicyManage) }
		edit(ctx, c, setPolicyOf)
		eventuallyDegraded(ctx, c, v1alpha1.ReasonConflict)
		deleteAndWait(ctx, manager)
		eventuallyReady(ctx, c)
	})

	It("that is set to Manage again does not take its channel "+
		"from an object that has since adopted the channel", func(ctx context.Context) {
		w := newWorld(ctx)
		topic := func(s string) func(*v1alpha1.DiscordChannel) { return with(func(c *channelSpec) { c.Topic = &s }) }
		first := w.channel("", "alerts", topic("old"))
		ready(ctx, w.server(), first)
		edit(ctx, first, func(c *v1alpha1.DiscordChannel) { setPolicy(c, v1alpha1.ManagementPolicyObserve) })
		second := w.channel("", "alerts", adopting(first.Status.ChannelID), topic("new"))
		second.Name = "second"
		ready(ctx, second)
		edit(ctx, first, func(c *v1alpha1.DiscordChannel) { setPolicy(c, v1alpha1.ManagementPolicyManage) })
		eventuallyDegraded(ctx, first, v1alpha1.ReasonConflict)
		operator.Restart(ctx)
		edit(ctx, first, topic("third"))
		eventuallyDegraded(ctx, first, v1alpha1.ReasonConflict)
		w.expectIdle(ctx)
		Expect(on(second).Topic).To(Equal("new"))
		eventuallyReady(ctx, second)
		deleteAndWait(ctx, second)
		eventuallyReady(ctx, first)
		Expect(on(first).Topic).To(Equal("third"))
	})

	It("needs the exact value Observe: "+
		"the API refuses an unknown value, and the default is Manage", func(ctx context.Context) {
		c := (&world{ns: "default"}).channel("", "alerts")
		setPolicy(c, "Watch")
		Expect(k8s.Create(ctx, c, client.DryRunAll)).To(MatchError(ContainSubstring(`"Manage", "Observe"`)))
		setPolicy(c, "")
		Expect(k8s.Create(ctx, c, client.DryRunAll)).To(Succeed())
		Expect(c.Spec.ManagementPolicy).To(Equal(v1alpha1.ManagementPolicyManage), "the default should be Manage")
	})
})
