// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const (
	// So many refusals would stop the bot's calls if they counted for the DiscordServer's
	// namespace.
	refusedEdits = 230
	// The bot's calls stop after this number of refusals that count for the DiscordServer's namespace,
	// see TestRefusalsCountForTheirTenant.
	botRefusals = 220
	// The operator tolerates 9,000 refusals in ten minutes. A namespace may cause a twentieth of
	// the part of these 9,000 that is not used yet.
	tenantRefusals = 9000 / 20
)

func (w *world) forbidden() (n int) {
	for _, r := range discord.RequestsOf(w.bot.UserID) {
		if r.Status == http.StatusForbidden {
			n++
		}
	}
	return n
}

func (w *world) refuse(c *v1alpha1.DiscordChannel) {
	id := c.Status.ChannelID
	w.fault(discordtest.Fault{
		Route: patchChannel, Match: func(r discordtest.Request) bool { return strings.HasSuffix(r.Path, "/"+id) },
		Action: discordtest.Action{Status: 403, Body: `{"message": "Missing Permissions", "code": 50013}`},
	})
}

func editMany(ctx context.Context, c *v1alpha1.DiscordChannel, change func(*channelSpec, int)) {
	GinkgoHelper()
	for i := range refusedEdits {
		edit(ctx, c, with(func(s *channelSpec) { change(s, i) }))
		Eventually(ctx, refetch(c)).Should(HaveCondition("Ready", "False", ""))
	}
}

var _ = Describe("Refusals by Discord", func() {
	DescribeTable("for the objects of one namespace delay no other namespace",
		func(ctx context.Context, least, most int, change func(*channelSpec, int)) {
			b := newResident(ctx)
			a := b.newTenant(ctx, nil)
			edit(ctx, b.server, serverAllows(v1alpha1.FromAll))
			loop := a.channel("", "loop")
			ready(ctx, loop)
			b.refuse(loop)
			b.undisturbed(ctx, func() { editMany(ctx, loop, change) })
			Expect(b.forbidden()).To(And(BeNumerically(">=", least), BeNumerically("<=", most)))
		},
		Entry("a refused topic: at most five calls for all edits", 1, 5,
			func(s *channelSpec, i int) { s.Topic = new(fmt.Sprintf("topic %d", i)) }),
		Entry("refused overwrites: no more calls than the namespace's limit of refusals", botRefusals, tenantRefusals,
			func(s *channelSpec, i int) {
				user := fmt.Sprintf("1%017d", i)
				s.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{User: user, Deny: []v1alpha1.Permission{"SendMessages"}}}
			}),
	)

	It("that are foreseeable are reported without the call that Discord would refuse", func(ctx context.Context) {
		w := newWorld(ctx)
		managing := denying("@everyone", "ManageRoles")
		made := w.channel("", "tokyo")
		ready(ctx, w.server(), made)
		before := len(w.edits())
		created, group := w.channel("", "kyoto", withOverwrites(managing)), w.group("team", groupOverwrites(managing))
		create(ctx, created, group)
		edit(ctx, made, withOverwrites(managing))
		explains := ContainSubstring("Discord lets only administrators set ManageRoles in permission overwrites")
		Expect(eventuallyDegraded(ctx, created, v1alpha1.ReasonMissingPermissions)).To(explains)
		Expect(eventuallyDegraded(ctx, group, v1alpha1.ReasonMissingPermissions)).To(explains)
		Expect(eventuallyDegraded(ctx, made, v1alpha1.ReasonMissingPermissions)).To(explains)
		w.expectIdle(ctx)
		Expect(w.edits()[before:]).To(BeEmpty())

		By("making the bot an administrator")
		discord.GiveRole(w.guild, w.bot.UserID, discord.AddRole(w.guild, "Sensei", discordtest.PermAdministrator))
		eventuallyReady(ctx, created, group, made)
	})
})
