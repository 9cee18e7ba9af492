// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("The name of a role in an overwrite", func() {
	private := []v1alpha1.PermissionOverwrite{denying("@everyone", "ViewChannel"), allowing("Dev", "ViewChannel")}

	It("stands for the same role until the name leaves the spec, "+
		"even if other roles get the name", func(ctx context.Context) {
		w := newWorld(ctx)
		first := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Dev"})
		c, g := w.channel("", "private", withOverwrites(private...)), w.group("private", groupOverwrites(private...))
		ready(ctx, w.server(), c, g)
		opened := func() []string {
			var ids []string
			for _, o := range append(on(c).Overwrites, category(g).Overwrites...) {
				if o.Type == 0 && o.Allow.Has(view) {
					ids = append(ids, o.ID)
				}
			}
			return ids
		}
		Expect(opened()).To(Equal([]string{first, first}))
		recorded := []v1alpha1.ResolvedRole{{Name: "Dev", ID: first}}
		Expect(c.Status.Roles).To(Equal(recorded))
		Expect(g.Status.Roles).To(Equal(recorded))

		By("creating a second role with the name, and renaming the first role")
		second := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Dev"})
		discord.EditRoleByHand(w.guild, first, func(r *discordtest.Role) { r.Name = "Developers" })
		w.expectIdle(ctx)
		w.expectInSync(ctx, c, g)
		Expect(opened()).To(Equal([]string{first, first}))

		By("deleting the first role, and restarting the operator")
		discord.DeleteRole(w.guild, first)
		for _, message := range []string{
			eventuallyDegraded(ctx, c, "RoleNotFound"), eventuallyDegraded(ctx, g, "RoleNotFound"),
		} {
			Expect(message).To(And(ContainSubstring(first), ContainSubstring("was deleted on Discord"),
				ContainSubstring("by its id"), Not(ContainSubstring(second))))
		}
		operator.Restart(ctx)
		eventuallyDegraded(ctx, c, "RoleNotFound")
		w.expectIdle(ctx)
		Expect(opened()).To(BeEmpty(), "no overwrite should move to the second role")
		Expect(c.Status.Roles).To(Equal(recorded))

		By("naming the second role by its id in the channel, and by its name again in the group")
		edit(ctx, c, withOverwrites(denying("@everyone", "ViewChannel"), allowing(second, "ViewChannel")))
		edit(ctx, g, groupOverwrites(denying("@everyone", "ViewChannel")))
		eventuallyReady(ctx, c, g)
		Expect(refetch(c)(ctx)).To(HaveField("Status.Roles", BeEmpty()))
		edit(ctx, g, groupOverwrites(private...))
		eventuallyReady(ctx, g)
		Expect(opened()).To(Equal([]string{second, second}))
		Expect(g.Status.Roles).To(Equal([]v1alpha1.ResolvedRole{{Name: "Dev", ID: second}}))
	})

	It("is stored with the role's id in the status before the operator writes the overwrite", func(ctx context.Context) {
		w := newWorld(ctx)
		dev := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Dev"})
		c := w.channel("", "private")
		ready(ctx, w.server(), c)
		w.fault(discordtest.Fault{Route: patchChannel, Action: discordtest.FailBefore(500)})
		edit(ctx, c, withOverwrites(private...))
		Eventually(ctx, refetch(c)).Should(
			HaveField("Status.Roles", Equal([]v1alpha1.ResolvedRole{{Name: "Dev", ID: dev}})), "before Discord answers")
	})

	It("does not stand for the role of a DiscordRole in another namespace", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		ready(ctx, w.server(serverAllows(v1alpha1.FromAll), rolesAllowed))
		theirs := w.role("dev", func(r *roleSpec) { r.Name, r.ServerRef.Namespace = "Dev", w.ns })
		theirs.Namespace = a.ns
		c := w.channel("", "private", withOverwrites(private...))
		create(ctx, theirs, c)
		eventuallyReady(ctx, theirs)
		eventuallyDegraded(ctx, c, "RoleNotFound")
		w.expectIdle(ctx)
		Expect(w.idsNamed("private")).To(BeEmpty())

		By("creating a role with this name, which no DiscordRole manages")
		own := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Dev"})
		eventuallyReady(ctx, c)
		Expect(on(c).Overwrites).To(ContainElement(discordtest.Overwrite{ID: own, Allow: view}))
		Expect(c.Status.Roles).To(Equal([]v1alpha1.ResolvedRole{{Name: "Dev", ID: own}}))
	})
})

func rolesAllowed(s *v1alpha1.DiscordServer) {
	s.Spec.AllowedRoles = &v1alpha1.AllowedRoles{Namespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}}
}
