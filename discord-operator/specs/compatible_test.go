// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

// The other vendor has other error codes, no audit log, and no roles in guild objects. It sends each
// update and deletion of a channel twice, but only if the channel existed when the Gateway session
// started.
var _ = Describe("With another vendor's implementation of Discord's API", Ordered, ContinueOnFailure, SpecPriority(1), func() {
	BeforeAll(func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(), Compatible: true}, "--resync-period=3s")
	})

	It("objects are created, corrected and deleted", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g := w.server(), w.group("incidents")
		loose := w.channel("", "loose")
		c := w.channel("incidents", "alerts", withWebhook, withOverwrites(denying("@everyone", "SendMessages")))
		ready(ctx, s, g, c, loose)
		w.expectInSync(ctx, s, g, c, loose)
		discord.Gateway().Drop(0) // the new Gateway session knows the channels from its start, and so gets their events
		w.expectIdle(ctx)
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Name = "quiet" })
		Eventually(func() string { return on(c).Name }).Should(Equal("alerts"))
		gone := loose.Status.ChannelID
		discord.DeleteChannelByHand(gone)
		Eventually(ctx, refetch(loose)).Should(HaveField("Status.ChannelID", Not(Equal(gone))))
		eventuallyReady(ctx, s, g, c, loose)
		Expect(discord.Guild(w.guild).Channels).To(HaveLen(3))
		deleteAndWait(ctx, c, loose, g)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("a create without a response leaves one channel, also after a kill of the operator", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		w.fault(discordtest.Fault{Route: postChannel, Times: 2, Action: discordtest.DropAfter()})
		c, g := w.channel("", "alerts"), w.group("incidents")
		create(ctx, c, g)
		Eventually(func() []string { return append(w.idsNamed("alerts"), w.idsNamed("incidents")...) }).Should(HaveLen(2))
		operator.Kill(ctx)
		operator.Start(ctx)
		eventuallyReady(ctx, c, g)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.idsNamed("incidents")).To(ConsistOf(g.Status.GroupID))
		Expect(c.Status.Matched).To(BeTrue(), "there is no audit log")
		deleteAndWait(ctx, c, g)
		Expect(w.idsNamed("alerts")).To(HaveLen(1), "a channel that was matched without proof is retained")
	})

	It("the bot keeps its access to channels that it makes private", func(ctx context.Context) {
		w := newWorld(ctx)
		private := denying("@everyone", "ViewChannel")
		g, c := w.group("private", groupOverwrites(private)), w.channel("private", "created", withOverwrites(private), withWebhook)
		later := w.channel("", "edited")
		ready(ctx, w.server(), g, c, later)
		edit(ctx, later, withOverwrites(private))
		eventuallyReady(ctx, later)
		for _, ch := range []*v1alpha1.DiscordChannel{c, later} {
			edit(ctx, ch, aboutFailures)
			eventuallyReady(ctx, ch)
			Expect(on(ch).Topic).To(Equal("What is broken"))
		}
		edit(ctx, g, groupOverwrites(denying("@everyone", "ViewChannel", "SendMessages")))
		eventuallyReady(ctx, g)
	})

	It("a channel in a private group is private from its first moment", func(ctx context.Context) {
		w := newWorld(ctx)
		yuji := discord.AddUser("Yuji")
		discord.AddMember(w.guild, yuji, 0)
		g := w.group("private", groupOverwrites(denying("@everyone", "ViewChannel"),
			v1alpha1.PermissionOverwrite{User: yuji, Allow: []v1alpha1.Permission{"ViewChannel"}}))
		ready(ctx, w.server(), g)
		c := w.channel("private", "tokyo")
		ready(ctx, c)
		Expect(w.edits()).To(Equal([]string{postChannel, postChannel}), "nothing is corrected afterwards")
		Expect(on(c).Overwrites).To(Equal(category(g).Overwrites))
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Overwrites = nil })
		w.expectInSync(ctx, c)
		Expect(on(c).Overwrites).To(BeEmpty(), "the operator should not restore overwrites that the spec leaves out")
	})

	It("the deletion of all objects of a namespace causes no write "+
		"to a Kubernetes object that is gone", func(ctx context.Context) {
		w := newWorld(ctx)
		objects := []client.Object{w.server(), w.group("g")}
		for i := range 20 {
			objects = append(objects, w.channel("g", fmt.Sprintf("channel-%d", i)))
		}
		ready(ctx, objects...)
		discord.Gateway().Drop(0) // the new Gateway session gets the events of the deletions
		w.expectIdle(ctx)
		deleteAll(ctx, w.ns)
		w.expectIdle(ctx)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
		Expect(slices.DeleteFunc(slices.Clone(operator.Requests()), func(e auditv1.Event) bool {
			return e.ObjectRef == nil || e.ObjectRef.Namespace != w.ns || e.ResponseStatus == nil ||
				e.Verb == "get" || e.ResponseStatus.Code != http.StatusNotFound
		})).To(BeEmpty())
	})

	It("an edit that Discord forbids is reported, and succeeds once Discord permits the edit", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		discord.Gateway().Drop(0) // the new Gateway session gets the channel's events
		w.expectIdle(ctx)
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) {
			ch.Overwrites = []discordtest.Overwrite{{ID: w.bot.UserID, Type: 1, Allow: view}, {ID: w.guild, Deny: view}}
		})
		edit(ctx, c, aboutFailures)
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonMissingPermissions)).To(ContainSubstring("code 50013"))
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Overwrites = nil })
		eventuallyReady(ctx, c)
		Expect(on(c).Topic).To(Equal("What is broken"))
	})

	It("a response without a position causes no move, "+
		"and a position that a user changed is corrected", func(ctx context.Context) {
		w := newWorld(ctx)
		objects := []client.Object{w.server(), w.group("g")}
		var names []string
		for i := range int32(6) {
			name := fmt.Sprintf("channel-%d", i)
			names, objects = append(names, name), append(objects, w.channel("g", name, position(i)))
		}
		ready(ctx, objects...)
		w.expectIdle(ctx)
		Expect(w.namesIn(w.idsNamed("g")[0])).To(Equal(names))
		discord.Gateway().Drop(0) // the new Gateway session gets the channels' events
		w.expectIdle(ctx)
		before := len(w.edits())
		for _, o := range objects[3:6] {
			edit(ctx, o.(*v1alpha1.DiscordChannel), aboutFailures)
		}
		eventuallyReady(ctx, objects...)
		w.expectInSync(ctx, objects...)
		Expect(w.edits()[before:]).To(Equal([]string{patchChannel, patchChannel, patchChannel}))
		for _, o := range objects[2:] {
			Expect(eventsOf(o)(ctx)).NotTo(ContainElement("Normal DriftCorrected"), "no user has moved anything")
		}
		last := objects[7].(*v1alpha1.DiscordChannel)
		discord.EditChannelByHand(last.Status.ChannelID, func(ch *discordtest.Channel) { ch.Position = 0 })
		first := objects[2].(*v1alpha1.DiscordChannel)
		discord.EditChannelByHand(first.Status.ChannelID, func(ch *discordtest.Channel) { ch.Position = 99 })
		Eventually(func() []string { return w.namesIn(w.idsNamed("g")[0]) }).Should(Equal(names))
	})
})

func aboutFailures(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("What is broken") }
