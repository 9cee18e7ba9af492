// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var lostAnswers = []TableEntry{
	Entry("status 500 before Discord creates the resource", discordtest.FailBefore(500)),
	Entry("status 500 after Discord has created the resource", discordtest.FailAfter(500)),
	Entry("status 502 after Discord has created the resource", discordtest.FailAfter(502)),
	Entry("status 503 before Discord creates the resource", discordtest.FailBefore(503)),
	Entry("status 504 after Discord has created the resource", discordtest.FailAfter(504)),
	Entry("a connection that closes before Discord creates the resource", discordtest.DropBefore()),
	Entry("a connection that closes after Discord has created the resource", discordtest.DropAfter()),
	Entry("a response that ends within its body", discordtest.CutAnswer(-20)),
	Entry("a response that ends within its status line", discordtest.CutAnswer(10)),
	Entry("a response that ends within its headers", discordtest.CutAnswer(40)),
	Entry("a response with invalid JSON", discordtest.Garbage()),
}

// holdAnswer delays the response to the next call of a route. Discord executes the call at once.
func (w *world) holdAnswer(route string) (release func()) {
	answer := make(chan struct{})
	release = sync.OnceFunc(func() { close(answer) })
	DeferCleanup(release)
	w.fault(discordtest.Fault{Route: route, Times: 1, Action: discordtest.Hold(answer)})
	return release
}

func restartAfterCrash(ctx context.Context, release func()) {
	GinkgoHelper()
	operator.Kill(ctx)
	release()
	operator.Start(ctx)
}

var _ = Describe("A create whose response is lost or is an error", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		ready(ctx, w.server())
	})
	// inFlight returns after Discord has created the channel, and before Discord responds.
	inFlight := func(ctx context.Context) (c *v1alpha1.DiscordChannel, release func()) {
		GinkgoHelper()
		release = w.holdAnswer(postChannel)
		c = w.channel("", "alerts")
		create(ctx, c)
		Eventually(func() []string { return w.idsNamed("alerts") }).Should(HaveLen(1))
		return c, release
	}

	DescribeTable("leaves exactly one channel and one category", func(ctx context.Context, way discordtest.Action) {
		w.fault(discordtest.Fault{Route: postChannel, Times: 2, Action: way})
		c, g := w.channel("", "alerts"), w.group("incidents")
		ready(ctx, c, g)
		w.expectIdle(ctx)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.idsNamed("incidents")).To(ConsistOf(g.Status.GroupID))
		Expect([]int{w.audited(channelCreated), w.audited(channelDeleted)}).
			To(Equal([]int{2, 0}), "all creates and all deletes")
	}, lostAnswers)

	DescribeTable("leaves exactly one webhook, "+
		"with its URL in the Secret", func(ctx context.Context, way discordtest.Action) {
		c := w.channel("", "alerts")
		ready(ctx, c)
		w.fault(discordtest.Fault{Route: postWebhook, Times: 1, Action: way})
		edit(ctx, c, withWebhook)
		eventuallyReady(ctx, c)
		w.expectIdle(ctx)
		Expect(hooks(c)).To(HaveLen(1))
		Expect(w.audited(webhookCreated)).To(Equal(1), "all creates")
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
	}, lostAnswers)

	It("leaves one channel and one webhook when the responses to both creates are lost", func(ctx context.Context) {
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: discordtest.DropAfter()})
		w.fault(discordtest.Fault{Route: postWebhook, Times: 1, Action: discordtest.DropAfter()})
		c := w.channel("", "alerts", withWebhook)
		ready(ctx, c)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(hooks(c)).To(HaveLen(1))
		Expect([]int{w.audited(channelCreated), w.audited(webhookCreated)}).To(Equal([]int{1, 1}))
	})

	It("is reported while the operator searches for its result", func(ctx context.Context) {
		w.fault(discordtest.Fault{Route: postChannel, Action: discordtest.FailBefore(500)})
		c := w.channel("", "alerts")
		create(ctx, c)
		Expect(eventuallyProgressing(ctx, c, "CreatePending")).To(ContainSubstring("create"))
		Expect(c).To(HaveCondition("Available", "False", "NotOnDiscord"))
		discord.Faults().Clear()
		eventuallyReady(ctx, c)
		Expect(w.idsNamed("alerts")).To(HaveLen(1))
	})

	It("is recovered although the audit log lacks it", func(ctx context.Context) {
		discord.Faults().LoseAudit(-1)
		DeferCleanup(func() { discord.Faults().LoseAudit(0) })
		w.fault(discordtest.Fault{Route: postChannel, Times: 2, Action: discordtest.DropAfter()})
		c, g := w.channel("", "alerts"), w.group("incidents")
		ready(ctx, c, g)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.idsNamed("incidents")).To(ConsistOf(g.Status.GroupID))
		Eventually(ctx, eventsOf(c)).Should(ContainElement("Normal Recovered"))
	})

	It("is recovered although the audit log lacks it, but the deletion of the object retains the channel, "+
		"unless spec.adopt has the id of the channel", func(ctx context.Context) {
		w := newWorld(ctx)
		s := w.server()
		ready(ctx, s)
		discord.Faults().LoseAudit(-1)
		DeferCleanup(func() { discord.Faults().LoseAudit(0) })
		w.fault(discordtest.Fault{Route: postChannel, Times: 3, Action: discordtest.DropAfter()})
		c, g, named := w.channel("", "alerts"), w.group("incidents"), w.channel("", "named")
		ready(ctx, c, g, named)
		for _, o := range []client.Object{c, g, named} {
			Expect(o).To(HaveField("Status.Matched", BeTrue()))
		}
		operator.Restart(ctx) // the operator loses what it had only in memory
		edit(ctx, c, slowmode(5))
		eventuallyReady(ctx, c)
		Expect(c.Status.Matched).To(BeTrue())
		edit(ctx, named, func(c *v1alpha1.DiscordChannel) {
			c.Spec.Adopt = &v1alpha1.Adoption{ID: c.Status.ChannelID}
			c.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete
		})
		Eventually(ctx, refetch(named)).Should(HaveField("Status.Matched", BeFalse()))
		deleteAndWait(ctx, c, g, named)
		Expect(w.idsNamed("alerts")).To(HaveLen(1), "the channel may be another user's")
		Expect(w.idsNamed("incidents")).To(HaveLen(1))
		Expect(w.idsNamed("named")).To(BeEmpty())
	})

	It("does not bind the object to a user's channel of the same name", func(ctx context.Context) {
		unowned := w.channelByHand(discordtest.Channel{Name: "alerts"})
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: discordtest.FailBefore(500)})
		c := w.channel("", "alerts")
		ready(ctx, c)
		Expect(c.Status.ChannelID).NotTo(Equal(unowned))
		Expect(w.idsNamed("alerts")).To(ConsistOf(unowned, c.Status.ChannelID))
	})

	It("leaves one channel for each of several objects with the same spec.name", func(ctx context.Context) {
		w.fault(discordtest.Fault{Route: postChannel, Times: 3, Action: discordtest.DropAfter()})
		var all []client.Object
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, w.channel("", name, with(func(s *channelSpec) { s.Name = "alerts" })))
		}
		ready(ctx, all...)
		ids := map[string]bool{}
		for _, o := range all {
			ids[o.(*v1alpha1.DiscordChannel).Status.ChannelID] = true
		}
		Expect(ids).To(HaveLen(3))
		Expect(w.audited(channelCreated)).To(Equal(3))
	})

	It("leaves nothing on Discord if its object is deleted before the response", func(ctx context.Context) {
		c, release := inFlight(ctx)
		deleteObjects(ctx, c)
		restartAfterCrash(ctx, release)
		eventuallyGone(ctx, c)
		Expect(w.idsNamed("alerts")).To(BeEmpty())
	})

	It("is recovered if the operator is killed "+
		"between the create and the update of the status", func(ctx context.Context) {
		c, release := inFlight(ctx)
		restartAfterCrash(ctx, release)
		eventuallyReady(ctx, c)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.audited(channelCreated)).To(Equal(1))
	})

	It("is recovered although another bot's token has replaced the token since", func(ctx context.Context) {
		c, release := inFlight(ctx)
		operator.Kill(ctx)
		release()
		second := newBot()
		discord.AddMember(w.guild, second.UserID, everything)
		edit(ctx, w.token(), func(secret *corev1.Secret) { secret.Data = map[string][]byte{"token": []byte(second.Token)} })
		operator.Start(ctx)
		w.bot = second
		eventuallyReady(ctx, c)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.audited(channelCreated)).To(Equal(1))
	})

	It("is recovered if the operator is killed before the response to the create of a webhook", func(ctx context.Context) {
		c := w.channel("", "alerts")
		ready(ctx, c)
		release := w.holdAnswer(postWebhook)
		edit(ctx, c, withWebhook)
		Eventually(func() int { return w.audited(webhookCreated) }).Should(Equal(1))
		restartAfterCrash(ctx, release)
		eventuallyReady(ctx, c)
		Expect(hooks(c)).To(HaveLen(1))
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
	})

	It("is recovered if Discord creates the channel after the operator is killed", func(ctx context.Context) {
		sent := make(chan struct{})
		w.fault(discordtest.Fault{
			Route: postChannel, Times: 1, Action: discordtest.Slow(time.Second, 0),
			Match: func(discordtest.Request) bool { close(sent); return true },
		})
		c := w.channel("", "alerts")
		create(ctx, c)
		Eventually(sent).Should(BeClosed())
		restartAfterCrash(ctx, func() {})
		eventuallyReady(ctx, c)
		w.expectIdle(ctx)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect([]int{w.audited(channelCreated), w.audited(channelDeleted)}).
			To(Equal([]int{1, 0}), "all creates and all deletes")
	})

	It("is recovered if Discord creates the resource long after it has answered 504", func(ctx context.Context) {
		// The operator looks for a lost webhook at once, and again before it creates a second one.
		late := discordtest.GiveUp(504, recoveryWait*3/4)
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: late})
		w.fault(discordtest.Fault{Route: postWebhook, Times: 1, Action: late})
		c := w.channel("", "alerts", withWebhook)
		ready(ctx, c)
		w.expectIdle(ctx)
		Expect(w.idsNamed("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(hooks(c)).To(HaveLen(1))
		Expect([]int{w.audited(channelCreated), w.audited(webhookCreated)}).To(Equal([]int{1, 1}),
			"all creates of channels and of webhooks")
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
	})
})
