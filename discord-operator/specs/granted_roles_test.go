// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const permBan = discordtest.Permissions(1 << 2)

func (t *tenant) role(name string, change ...func(*roleSpec)) *v1alpha1.DiscordRole {
	r := t.world.role(name, change...)
	r.Namespace, r.Spec.ServerRef.Namespace = t.ns, t.world.ns
	return r
}

func allowsRoles(ceiling ...v1alpha1.Permission) func(*v1alpha1.DiscordServer) {
	return func(s *v1alpha1.DiscordServer) {
		s.Spec.AllowedRoles = &v1alpha1.AllowedRoles{
			Namespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}, Permissions: ceiling,
		}
	}
}

func permitting(names ...v1alpha1.Permission) func(*roleSpec) {
	return func(s *roleSpec) { s.Permissions = names }
}

func withMember(user string) func(*roleSpec) {
	return func(s *roleSpec) { s.Members = append(s.Members, v1alpha1.UserID(user)) }
}

var _ = Describe("A tenant with DiscordRoles", func() {
	It("gets no role from a grant for groups and channels only", func(ctx context.Context) {
		w := newWorld(ctx)
		discord.SetPermissions(w.guild, w.bot.UserID, discordtest.PermAdministrator)
		a, toji := w.newTenant(ctx, nil), w.user("Toji")
		s := w.server(serverAllows(v1alpha1.FromAll), allowsAdoption)
		ready(ctx, s)
		r := a.role("admin", permitting("Administrator"), withMember(toji))
		create(ctx, r)
		Expect(eventuallyDegraded(ctx, r, v1alpha1.ReasonNotAllowed)).To(ContainSubstring("spec.allowedRoles"))
		w.expectIdle(ctx)
		Expect(w.rolesNamed("admin")).To(BeEmpty())
		Expect(namespaces(s)(ctx)).To(BeEquivalentTo(0), "a namespace that may have no roles does not count")
		edit(ctx, s, allowsRoles())
		Eventually(ctx, refetch(r)).Should(WithTransform(
			func(r *v1alpha1.DiscordRole) string { return message(r, "Degraded") }, ContainSubstring("Administrator")))
		Expect(w.edits()).To(BeEmpty())
		edit(ctx, r, func(r *v1alpha1.DiscordRole) { r.Spec.Permissions = nil })
		eventuallyReady(ctx, r)
		Expect(w.roleOn(r)()).To(HaveField("Permissions", discordtest.Permissions(0)), "not those of @everyone")
		Eventually(w.has(toji)).Should(ConsistOf(r.Status.RoleID))
		Eventually(ctx, namespaces(s)).Should(BeEquivalentTo(1))
		w.expectInSync(ctx, r)
	})

	DescribeTable("gets no permission that the DiscordServer does not list, even if a listed permission implies it",
		func(ctx context.Context, ceiling, asked []v1alpha1.Permission, refused string) {
			w := newWorld(ctx)
			discord.SetPermissions(w.guild, w.bot.UserID, discordtest.PermAdministrator)
			a := w.newTenant(ctx, nil)
			ready(ctx, w.server(allowsRoles(ceiling...)))
			r := a.role("asks", permitting(asked...))
			create(ctx, r)
			if refused == "" {
				eventuallyReady(ctx, r)
				return
			}
			Expect(eventuallyDegraded(ctx, r, v1alpha1.ReasonNotAllowed)).To(And(ContainSubstring(refused),
				ContainSubstring("spec.allowedRoles.permissions"), ContainSubstring("Ask its owner to allow them, or remove them")))
			Expect(w.edits()).To(BeEmpty())
		},
		Entry("a listed permission: granted",
			[]v1alpha1.Permission{"SendMessages", "Speak"}, []v1alpha1.Permission{"Speak"}, ""),
		Entry("a listed and an unlisted permission: refused",
			[]v1alpha1.Permission{"Speak"}, []v1alpha1.Permission{"Speak", "BanMembers"}, "BanMembers"),
		Entry("a permission that only the listed Administrator implies: refused",
			[]v1alpha1.Permission{"Administrator"}, []v1alpha1.Permission{"BanMembers"}, "BanMembers"),
		Entry("the listed Administrator: granted",
			[]v1alpha1.Permission{"Administrator"}, []v1alpha1.Permission{"Administrator"}, ""),
	)

	It("loses each permission that the DiscordServer does not list, "+
		"and its role gets no new member while the spec asks for such a permission", func(ctx context.Context) {
		w := newWorld(ctx)
		a, toji, mai := w.newTenant(ctx, nil), w.user("Toji"), w.user("Mai")
		s := w.server(allowsRoles("SendMessages", "ViewChannel"))
		r := a.role("team", withMember(toji))
		ready(ctx, s, r)
		Eventually(w.has(toji)).Should(ConsistOf(r.Status.RoleID))
		raise := func(p discordtest.Permissions) {
			discord.EditRoleByHand(w.guild, r.Status.RoleID, func(role *discordtest.Role) { role.Permissions = p })
		}
		permissions := func() discordtest.Permissions { return w.roleOn(r)().Permissions }

		By("a user giving the role more permissions on Discord, one of them undocumented")
		raise(discordtest.PermSendMessages | permBan | 1<<47)
		Eventually(permissions).Should(Equal(discordtest.PermSendMessages))

		By("the server's owner no longer listing a permission of the spec")
		edit(ctx, r, func(r *v1alpha1.DiscordRole) {
			r.Spec.Permissions = []v1alpha1.Permission{"SendMessages", "ViewChannel"}
		})
		Eventually(permissions).Should(Equal(discordtest.PermSendMessages | discordtest.PermViewChannel))
		edit(ctx, s, allowsRoles("ViewChannel"))
		Expect(eventuallyDegraded(ctx, r, v1alpha1.ReasonNotAllowed)).To(ContainSubstring("SendMessages"))
		Eventually(permissions).Should(Equal(discordtest.PermViewChannel), "an unlisted permission is removed at once")
		edit(ctx, r, func(r *v1alpha1.DiscordRole) {
			r.Spec.Members, r.Spec.Name = []v1alpha1.UserID{v1alpha1.UserID(mai)}, "renamed"
		})
		Eventually(w.has(toji)).Should(BeEmpty(), "a member that the spec no longer lists loses the role")
		w.expectIdle(ctx)
		Expect(w.has(mai)()).To(BeEmpty())
		Expect(w.roleOn(r)().Name).To(Equal("team"), "nothing else is written")

		By("the tenant pausing the object, or setting managementPolicy to Observe")
		edit(ctx, s, allowsRoles("SendMessages", "ViewChannel"))
		eventuallyReady(ctx, r)
		edit(ctx, r, func(r *v1alpha1.DiscordRole) { r.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"} })
		edit(ctx, s, allowsRoles())
		Eventually(permissions).Should(Equal(discordtest.Permissions(0)))
		edit(ctx, s, allowsRoles("SendMessages", "ViewChannel"))
		edit(ctx, r, func(r *v1alpha1.DiscordRole) { r.Annotations, r.Spec.ManagementPolicy = nil, "Observe" })
		raise(permBan)
		Eventually(permissions).Should(Equal(discordtest.Permissions(0)))
		w.expectIdle(ctx)
		edit(ctx, r, func(r *v1alpha1.DiscordRole) { r.Spec.ManagementPolicy, r.Spec.DeletionPolicy = "Manage", "Delete" })
		eventuallyReady(ctx, r)
	})

	DescribeTable("loses a permission that the DiscordServer no longer lists, "+
		"even if the tenant tries to keep the permission",
		func(ctx context.Context, change func(w *world, r *v1alpha1.DiscordRole)) {
			w := newWorld(ctx)
			a := w.newTenant(ctx, nil)
			s := w.server(allowsRoles("SendMessages", "Speak", "BanMembers"))
			r := a.role("team", permitting("SendMessages"))
			ready(ctx, s, r)
			edit(ctx, r, func(r *v1alpha1.DiscordRole) { r.Spec.Permissions = nil; change(w, r) })
			edit(ctx, s, allowsRoles("Speak", "BanMembers"))
			Eventually(func() discordtest.Permissions { return w.roleOn(r)().Permissions }).Should(Equal(discordtest.Permissions(0)))
			w.expectIdle(ctx)
		},
		Entry("by setting spec.adopt to the id of the object's role", func(_ *world, r *v1alpha1.DiscordRole) {
			r.Spec.Adopt = &v1alpha1.Adoption{ID: r.Status.RoleID}
			r.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete // the default would leave the role, which is not allowed
		}),
		Entry("by setting a color that Discord refuses", func(_ *world, r *v1alpha1.DiscordRole) {
			r.Spec.Color, r.Spec.SecondaryColor = new("#ff0000"), new("#00ff00")
		}),
		Entry("by asking for a permission that the bot lacks", func(w *world, r *v1alpha1.DiscordRole) {
			discord.SetPermissions(w.guild, w.bot.UserID, everything&^permBan)
			r.Spec.Permissions = []v1alpha1.Permission{"BanMembers"}
		}),
	)

	It("gives its role to no new member after the grant is withdrawn, and keeps the role", func(ctx context.Context) {
		w := newWorld(ctx)
		a, toji, mai := w.newTenant(ctx, nil), w.user("Toji"), w.user("Mai")
		s := w.server(allowsRoles("SendMessages"))
		r := a.role("team", permitting("SendMessages"), withMember(toji))
		ready(ctx, s, r)
		before := w.edits()
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.AllowedRoles = nil })
		eventuallyNotAllowed(ctx, r)
		edit(ctx, r, func(r *v1alpha1.DiscordRole) { withMember(mai)(&r.Spec); r.Spec.Name = "renamed" })
		w.expectIdle(ctx)
		Expect(w.edits()).To(Equal(before))
		Expect(namespaces(s)(ctx)).To(BeEquivalentTo(1), "a namespace whose role still exists counts")
		deleteAndWait(ctx, r)
		Expect(w.rolesNamed("team")).To(BeEmpty())
	})

	It("can neither adopt nor observe a role, even if it may adopt channels", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		mods := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Mods", Permissions: permBan})
		discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Sensei"})
		ready(ctx, w.server(serverAllows(v1alpha1.FromAll), allowsAdoption, allowsRoles("BanMembers")))
		adopt := func(id string) func(*roleSpec) {
			return func(s *roleSpec) { s.Adopt = &v1alpha1.Adoption{ID: id} }
		}
		adopts := a.role("adopts", adopt(mods))
		none := a.role("none", adopt("123456"))
		observes := a.role("observes", adopt(mods), func(s *roleSpec) { s.ManagementPolicy = "Observe" })
		forged := a.role("forged", adopt(mods), func(s *roleSpec) { s.DeletionPolicy = "Delete" })
		forged.Finalizers = []string{v1alpha1.CleanupFinalizer}
		guesses := a.role("sensei", func(s *roleSpec) { s.Name, s.ManagementPolicy = "Sensei", "Observe" })
		create(ctx, adopts, none, observes, forged, guesses)
		eventuallyNotAllowed(ctx, adopts, none, observes, forged)
		Expect(message(none, "Degraded")).To(Equal(message(adopts, "Degraded")),
			"the tenant should not learn which roles exist")
		Expect(eventuallyDegraded(ctx, guesses, v1alpha1.ReasonNothingToObserve)).NotTo(ContainSubstring("with the object's name"))
		deleteAndWait(ctx, adopts, none, observes, forged)
		Expect(w.edits()).To(BeEmpty())
		Expect(w.rolesNamed("Mods")).To(HaveExactElements(And(HaveField("ID", mods), HaveField("Permissions", permBan))))
	})

	It("has its roles below the roles of the server's namespace and the roles that users created, "+
		"without repeated moves", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b := w.newTenant(ctx, nil), w.newTenant(ctx, nil)
		ranked := func(position int32) func(*roleSpec) { return func(s *roleSpec) { s.Position = &position } }
		ready(ctx, w.server(allowsRoles()), w.role("owners", ranked(1)))
		ready(ctx, a.role("a-top", ranked(0)), a.role("a-low", ranked(9)), b.role("b-top", ranked(0)), b.role("b-any"))
		tenants := func() (below []string) { return w.ranked()[1:5] }
		within := ConsistOf("a-top", "a-low", "b-top", "b-any")
		ordered := func() bool {
			names := w.ranked()
			return slices.Index(names, "a-low") < slices.Index(names, "a-top")
		}
		Eventually(tenants).Should(within)
		Eventually(ordered).Should(BeTrue())
		w.expectIdle(ctx)

		By("a user and the owner creating roles, which Discord puts below all other roles")
		discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "by hand", Position: 1})
		ready(ctx, w.role("owners-too"))
		Eventually(tenants).Should(within)
		w.expectIdle(ctx)

		By("a user moving roles of both tenants up")
		top := func(name string) {
			above := w.rolesNamed("owners")[0].Position + 1
			discord.EditRoleByHand(w.guild, w.rolesNamed(name)[0].ID, func(r *discordtest.Role) { r.Position = above })
		}
		discord.EditRoleByHand(w.guild, discord.Guild(w.guild).Members[w.bot.UserID].Own, func(r *discordtest.Role) { r.Position = 90 })
		top("a-low")
		top("b-any")
		Eventually(tenants).Should(within)
		Eventually(ordered).Should(BeTrue())
		w.expectIdle(ctx)
		Expect(w.ranked()[5:]).To(ContainElements("owners", "owners-too", "by hand", "operator"))
		before := w.traffic()
		Consistently(w.traffic).WithTimeout(3*time.Second).Should(Equal(before),
			"the operator should not move the roles again")
	})

	It("gets no role from a namespace selector "+
		"while the component namespace-selectors is missing", func(ctx context.Context) {
		w := newWorld(ctx)
		labels := map[string]string{"roles": "yes"}
		a := w.newTenant(ctx, labels)
		s := w.server(allowsRoles(), func(s *v1alpha1.DiscordServer) { s.Spec.AllowedRoles.Namespaces = *selecting(labels) })
		create(ctx, s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonSelectorUnusable)).
			To(ContainSubstring("spec.allowedRoles.namespaces.selector"))
		r := a.role("team")
		create(ctx, r)
		eventuallyNotAllowed(ctx, r)
		edit(ctx, s, allowsRoles())
		eventuallyReady(ctx, s, r)
	})
})
