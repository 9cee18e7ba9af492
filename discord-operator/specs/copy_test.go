// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("kubectl discord export --copy-to", func() {
	It("never copies a private channel as a public channel", func(ctx context.Context) {
		const view, manage = discordtest.PermViewChannel, discordtest.PermManageChannels
		w := newWorldOf(ctx, newBot(), guildtest.Needed)
		ops := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Ops"})
		discord.GiveRole(w.guild, w.bot.UserID, ops)
		closed := func(by ...discordtest.Overwrite) []discordtest.Overwrite {
			return append([]discordtest.Overwrite{{ID: w.guild, Deny: view}}, by...)
		}
		known := closed(discordtest.Overwrite{ID: ops, Allow: view | manage})
		w.channelByHand(discordtest.Channel{Name: "by-a-role-of-the-bot", Overwrites: known})
		unknown := append(known, discordtest.Overwrite{ID: discord.AddUser("Yuji"), Type: 1, Deny: 1 << 60})
		vaults := w.channelByHand(discordtest.Channel{Type: discordtest.TypeCategory, Name: "Vaults", Overwrites: unknown})
		w.channelByHand(discordtest.Channel{Name: "in-the-vaults", ParentID: vaults, Overwrites: []discordtest.Overwrite{}})
		w.channelByHand(discordtest.Channel{Name: "vault", Overwrites: unknown})
		empty := newWorldOf(ctx, w.bot, guildtest.Needed)

		manifests := w.export(ctx, "--copy-to="+empty.guild, "--namespace="+empty.ns)
		objects := empty.applyAll(ctx, manifests)
		eventuallyReady(ctx, objects...)

		var names []string
		for _, o := range objects {
			names = append(names, o.GetName())
		}
		Expect(names).To(ConsistOf("jujutsu", "ops", "by-a-role-of-the-bot"), manifests)
		var open []string
		for _, c := range discord.Guild(empty.guild).Channels {
			hides := func(o discordtest.Overwrite) bool { return o.ID == empty.guild && o.Deny&view != 0 }
			if !slices.ContainsFunc(c.Overwrites, hides) {
				open = append(open, c.Name)
			}
		}
		Expect(open).To(BeEmpty(), manifests)

		By("keeping private channels private after a user uncomments their objects")
		var closedOnes []client.Object
		for document := range strings.SplitSeq(manifests, "\n---\n") {
			if !strings.Contains(document, "Commented out:") {
				continue
			}
			closedOnes = append(closedOnes, empty.apply(ctx, uncommented(document)))
		}
		Expect(closedOnes).To(HaveLen(3))
		eventuallyReady(ctx, closedOnes...)
		for _, name := range []string{"Vaults", "vault"} {
			for _, id := range empty.idsNamed(name) {
				c, _ := discord.Channel(id)
				Expect(c.Overwrites).To(ContainElement(discordtest.Overwrite{ID: empty.guild, Deny: view}), name)
			}
		}
	})
})
