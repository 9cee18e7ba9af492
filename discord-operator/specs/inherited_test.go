// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("A channel without permissionOverwrites in a group with overwrites", func() {
	adopting := func(w *world, list ...discordtest.Overwrite) *v1alpha1.DiscordGroup {
		id := w.channelByHand(discordtest.Channel{Type: discordtest.TypeCategory, Name: "private", Overwrites: list})
		return w.group("private", func(g *v1alpha1.DiscordGroup) { g.Spec.Adopt = &v1alpha1.Adoption{ID: id} })
	}

	It("is created with the overwrites of the group, in one call", func(ctx context.Context) {
		w := newWorld(ctx)
		g, c := w.group("private", groupOverwrites(denying("@everyone", "ViewChannel"))), w.channel("private", "tokyo")
		ready(ctx, w.server(), g, c)
		Expect(w.bodies(postChannel)[1]).To(HaveKeyWithValue("permission_overwrites", HaveLen(2)))
		Expect(w.edits()).To(Equal([]string{postChannel, postChannel}))
		Expect(on(c).Overwrites).To(Equal(category(g).Overwrites))
		w.expectInSync(ctx, c)
	})

	It("is created with overwrites that Discord copies from the group "+
		"if the bot may not write overwrites", func(ctx context.Context) {
		w := newWorld(ctx)
		g := adopting(w, discordtest.Overwrite{ID: w.guild, Deny: discordtest.PermManageRoles})
		c := w.channel("private", "tokyo")
		ready(ctx, w.server(), g, c)
		Expect(w.edits()).To(Equal([]string{postChannel}), "the operator does not send overwrites that Discord would refuse")
		Expect(w.bodies(postChannel)[0]).NotTo(HaveKey("permission_overwrites"))
		Expect(on(c).Overwrites).To(Equal(category(g).Overwrites))
		w.expectInSync(ctx, c)
	})

	It("is created with overwrites that Discord copies from the group "+
		"if Discord refuses the overwrite of a user who has left", func(ctx context.Context) {
		w := newWorld(ctx)
		g := adopting(w, discordtest.Overwrite{ID: w.guild, Deny: view}, discordtest.Overwrite{ID: "99999999", Type: 1, Allow: view},
			discordtest.Overwrite{ID: w.bot.UserID, Type: 1, Allow: view})
		c := w.channel("private", "tokyo")
		ready(ctx, w.server(), g, c)
		Expect(w.edits()).To(Equal([]string{postChannel, postChannel}))
		Expect(w.bodies(postChannel)[1]).NotTo(HaveKey("permission_overwrites"))
		Expect(on(c).Overwrites).To(Equal(category(g).Overwrites))
		w.expectInSync(ctx, c)
	})
})
