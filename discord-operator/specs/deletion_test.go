// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("Deleting", func() {
	DescribeTable("a DiscordChannel and a DiscordGroup follows spec.deletionPolicy on Discord",
		func(ctx context.Context, adopted bool, policy v1alpha1.DeletionPolicy, stays bool) {
			w := newWorld(ctx)
			c, g := w.channel("", "alerts", withWebhook), w.group("incidents")
			if adopted {
				adopting(w.channelByHand(discordtest.Channel{Name: "alerts"}))(c)
				groupAdopting(w.categoryByHand("incidents"))(g)
			}
			c.Spec.DeletionPolicy, g.Spec.DeletionPolicy = policy, policy
			ready(ctx, w.server(), c, g)
			w.expectIdle(ctx)
			before := len(w.edits())
			deleteAndWait(ctx, c, g)
			_, there := discord.Channel(c.Status.ChannelID)
			_, groupThere := discord.Channel(g.Status.GroupID)
			Expect([]bool{there, groupThere}).To(Equal([]bool{stays, stays}), "whether channel and group are on Discord")
			switch {
			case !stays:
				Expect(w.edits()[before:]).To(ConsistOf(deleteChannel, deleteChannel))
			case policy == "": // the webhook is deleted, because its Secret is deleted too
				Expect(w.edits()[before:]).To(ConsistOf(deleteWebhook))
			default:
				Expect(w.edits()[before:]).To(BeEmpty())
			}
		},
		Entry("created by the operator, without a policy: deleted", false, v1alpha1.DeletionPolicy(""), false),
		Entry("created by the operator, policy Delete: deleted", false, v1alpha1.DeletionPolicyDelete, false),
		Entry("created by the operator, policy Retain: retained", false, v1alpha1.DeletionPolicyRetain, true),
		Entry("adopted, without a policy: retained, but without the webhook", true, v1alpha1.DeletionPolicy(""), true),
		Entry("adopted, policy Delete: deleted", true, v1alpha1.DeletionPolicyDelete, false),
		Entry("adopted, policy Retain: retained", true, v1alpha1.DeletionPolicyRetain, true),
	)

	It("an object whose adopted channel a user deleted "+
		"also deletes the new channel that the operator created", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", adopting(w.channelByHand(discordtest.Channel{Name: "alerts"})))
		g := w.group("incidents", groupAdopting(w.categoryByHand("incidents")))
		ready(ctx, w.server(), c, g)
		discord.DeleteChannelByHand(c.Status.ChannelID)
		discord.DeleteChannelByHand(g.Status.GroupID)
		Eventually(ctx, refetch(c)).Should(HaveField("Status.ChannelID", Not(Equal(c.Spec.Adopt.ID))))
		Eventually(ctx, refetch(g)).Should(HaveField("Status.GroupID", Not(Equal(g.Spec.Adopt.ID))))
		deleteAndWait(ctx, c, g)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("a channel that was never created on Discord needs no call to Discord and no finalizer", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("nowhere", "alerts")
		create(ctx, c)
		eventuallyProgressing(ctx, c, "WaitingForGroup")
		Expect(c.Finalizers).To(BeEmpty())
		deleteAndWait(ctx, c)
		Expect(w.calls()).To(BeEmpty())
	})

	It("a channel that a user deletes on Discord at the same moment succeeds", func(ctx context.Context) {
		w := newWorld(ctx)
		c, g := w.channel("", "alerts"), w.group("incidents")
		ready(ctx, w.server(), c, g)
		w.fault(discordtest.Fault{Route: deleteChannel,
			Action: discordtest.Action{Effect: true, Status: 404, Body: `{"code": 10003, "message": "Unknown Channel"}`}})
		deleteAndWait(ctx, c, g)
	})

	It("a channel changes nothing on Discord "+
		"if a user deleted the channel there while the operator was stopped", func(ctx context.Context) {
		w := newWorld(ctx)
		c, g := w.channel("", "alerts"), w.group("incidents")
		ready(ctx, w.server(), c, g)
		operator.Stop()
		before := len(w.edits())
		discord.DeleteChannelByHand(c.Status.ChannelID)
		discord.DeleteChannelByHand(g.Status.GroupID)
		unowned := w.channelByHand(discordtest.Channel{Name: "alerts"})
		deleteObjects(ctx, c, g)
		operator.Start(ctx)
		eventuallyGone(ctx, c, g)
		Expect(w.edits()[before:]).To(BeEmpty())
		Expect(w.idsNamed("alerts")).To(ConsistOf(unowned), "a user's channel of the same name stays")
	})

	It("a channel is retried after errors from Discord, and deletes the channel exactly once", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		w.fault(discordtest.Fault{Route: deleteChannel, Times: 1, Action: discordtest.FailBefore(500)})
		w.fault(discordtest.Fault{Route: deleteChannel, Times: 1, Action: discordtest.DropAfter()})
		deleteAndWait(ctx, c)
		Expect(w.idsNamed("alerts")).To(BeEmpty())
		Expect(w.audited(channelDeleted)).To(Equal(1))
	})

	It("a group waits until its channels are gone or moved, and its status names them", func(ctx context.Context) {
		w := newWorld(ctx)
		g, a, b := w.group("incidents"), w.channel("incidents", "a"), w.channel("incidents", "b")
		ready(ctx, w.server(), g, a, b, w.group("other"))
		deleteObjects(ctx, g)
		Expect(eventuallyProgressing(ctx, g, "WaitingForDependents")).To(And(
			ContainSubstring(": a, b."), ContainSubstring("`kubectl discord undelete group incidents -n "+w.ns+"`")))
		Expect(category(g).Name).To(Equal("incidents"))
		deleteAndWait(ctx, a)
		Eventually(ctx, func(ctx context.Context) (string, error) {
			_, err := refetch(g)(ctx)
			return message(g, "Progressing"), err
		}).Should(ContainSubstring(": b."))
		edit(ctx, b, with(func(s *channelSpec) { s.GroupRef.Name = "other" }))
		eventuallyGone(ctx, g)
		Expect(w.idsNamed("incidents")).To(BeEmpty())
		eventuallyReady(ctx, b)
	})

	It("a channel and its group at the same time deletes both on Discord", func(ctx context.Context) {
		w := newWorld(ctx)
		g, c := w.group("incidents"), w.channel("incidents", "alerts")
		ready(ctx, w.server(), g, c)
		deleteObjects(ctx, g, c)
		eventuallyGone(ctx, c, g)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("all objects of a namespace leaves no channel on Discord, "+
		"even if the token's Secret is deleted first", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g, c := w.server(), w.group("incidents"), w.channel("incidents", "tokyo")
		ready(ctx, s, g, c)
		deleteObjects(ctx, w.token())
		eventuallyDegraded(ctx, s, "TokenNotFound")
		deleteObjects(ctx, s, g, c)
		eventuallyGone(ctx, c, g, s)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("a channel by force removes the object while Discord keeps failing, "+
		"and leaves the channel", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		stop := discord.Faults().Add(discordtest.Fault{
			Match:  func(r discordtest.Request) bool { return r.BotID == w.bot.UserID && r.Method == http.MethodDelete },
			Action: discordtest.FailBefore(http.StatusInternalServerError),
		})
		defer stop()
		deleteObjects(ctx, c)
		eventuallyProgressing(ctx, c, "Retrying")
		forceDelete(ctx, c)
		eventuallyGoneIn(ctx, 2*soon, c) // the operator tries for 20 s
		Expect(w.idsNamed("alerts")).To(HaveLen(1), "it stays on Discord")
	})

	It("a channel by force also deletes the channel on Discord if Discord does not fail", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", func(c *v1alpha1.DiscordChannel) {
			c.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"}
		})
		ready(ctx, w.server(), c)
		deleteAndWait(ctx, c)
		Expect(w.idsNamed("alerts")).To(BeEmpty())
	})

	It("a channel makes its object Degraded when Discord refuses the deletion", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "rules")
		ready(ctx, w.server(), c)
		w.fault(discordtest.Fault{Route: deleteChannel, Action: discordtest.Action{Status: 400,
			Body: `{"code": 50074, "message": "Cannot delete a channel required for Community guilds"}`}})
		deleteObjects(ctx, c)
		Expect(eventuallyDegraded(ctx, c, "DeletionFailed")).To(ContainSubstring("delete channel"))
		Expect(on(c).Name).To(Equal("rules"))
	})
})
