// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("The status reports", func() {
	It("that a channel is still open to @everyone after its move into a private group, "+
		"until the channel's own overwrites make it private", func(ctx context.Context) {
		w := newWorld(ctx)
		w.user("Yuji")
		g, c := w.group("private", groupOverwrites(denying("@everyone", "ViewChannel"))), w.channel("", "alerts")
		inside := w.channel("private", "inside")
		discord.EditRoleByHand(w.guild, w.guild, func(r *discordtest.Role) { r.Permissions |= view })
		ready(ctx, w.server(), g, c, inside)
		Expect([][]string{c.Status.OpenTo, inside.Status.OpenTo}).To(HaveEach(BeEmpty()))
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) {
			c.Spec.GroupRef, c.Spec.ServerRef = &v1alpha1.GroupReference{Name: "private"}, nil
		})
		eventuallyReady(ctx, c)
		Expect(c.Status.OpenTo).To(Equal([]string{"@everyone"}))
		w.expectInSync(ctx, c, inside)
		Expect(refetch(inside)(ctx)).To(HaveField("Status.OpenTo", BeEmpty()))

		By("opening and closing its group") // the overwrites never equal c's, so Discord does not sync c
		edit(ctx, g, groupOverwrites(allowing("@everyone", "ViewChannel")))
		Eventually(ctx, refetch(c)).Should(HaveField("Status.OpenTo", BeEmpty()))
		edit(ctx, g, groupOverwrites(denying("@everyone", "ViewChannel")))
		Eventually(ctx, refetch(c)).Should(HaveField("Status.OpenTo", Equal([]string{"@everyone"})))

		By("making the channel private by its own overwrites")
		edit(ctx, c, withOverwrites(denying("@everyone", "ViewChannel")))
		eventuallyReady(ctx, c)
		Expect(c.Status.OpenTo).To(BeEmpty())
		w.expectInSync(ctx, c)

		By("opening another channel by its own overwrites, which replace the group's")
		edit(ctx, inside, withOverwrites(allowing("@everyone", "SendMessages")))
		Eventually(ctx, refetch(inside)).Should(HaveField("Status.OpenTo", Equal([]string{"@everyone"})))
		w.expectInSync(ctx, inside)
	})

	It("the permissions that a role has on Discord if its spec leaves out the permissions", func(ctx context.Context) {
		w := newWorld(ctx)
		discord.EditRoleByHand(w.guild, w.guild, func(r *discordtest.Role) { r.Permissions = view | send })
		r, none := w.role("on-call"), w.role("none", func(r *roleSpec) { r.Permissions = []v1alpha1.Permission{} })
		ready(ctx, w.server(), r, none)
		Expect(r.Status.Permissions).To(ConsistOf(v1alpha1.Permission("ViewChannel"), v1alpha1.Permission("SendMessages")))
		Expect(none.Status.Permissions).To(BeEmpty())
		discord.EditRoleByHand(w.guild, r.Status.RoleID, func(r *discordtest.Role) { r.Permissions = view })
		Eventually(ctx, refetch(r)).Should(
			HaveField("Status.Permissions", Equal([]v1alpha1.Permission{"ViewChannel"})), "a user has changed it")
		w.expectInSync(ctx, r, none)
	})
})
