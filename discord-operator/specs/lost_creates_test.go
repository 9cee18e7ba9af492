package specs_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/discordtest"
)

// All ways in which the answer to a create can be lost, with and without the create having its effect.
var lostAnswers = []TableEntry{
	Entry("500 before the effect", discordtest.FailBefore(500)),
	Entry("500 after the effect", discordtest.FailAfter(500)),
	Entry("502 after the effect", discordtest.FailAfter(502)),
	Entry("503 before the effect", discordtest.FailBefore(503)),
	Entry("504 after the effect", discordtest.FailAfter(504)),
	Entry("a connection that is cut before the effect", discordtest.DropBefore()),
	Entry("a connection that is cut after the effect", discordtest.DropAfter()),
	Entry("an answer that is cut in the middle", discordtest.CutAnswer(-20)),
	Entry("an answer that is cut in its headers", discordtest.CutAnswer(20)),
	Entry("an answer that is no JSON", discordtest.Garbage()),
}

// held holds back the world's next call by a route, after its effect, until release is called.
func (w *world) held(route string) (release func()) {
	answer := make(chan struct{})
	release = sync.OnceFunc(func() { close(answer) })
	DeferCleanup(release)
	w.fault(discordtest.Fault{Route: route, Times: 1, Action: discordtest.Hold(answer)})
	return release
}

// restartAfterCrash kills the operator, lets happen what is under way, and starts it again.
func restartAfterCrash(ctx context.Context, release func()) {
	GinkgoHelper()
	operator.Kill(ctx)
	release()
	operator.Start(ctx)
}

var _ = Describe("A create whose outcome is not known", func() {
	DescribeTable("leaves one channel and one group", func(ctx context.Context, way discordtest.Action) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		w.fault(discordtest.Fault{Route: postChannel, Times: 2, Action: way})
		c, g := w.channel("", "alerts"), w.group("alarms")
		ready(ctx, c, g)
		w.expectRest(ctx)
		Expect(w.named("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.named("alarms")).To(ConsistOf(g.Status.GroupID))
		Expect([]int{w.deeds(channelCreated), w.deeds(channelDeleted)}).To(Equal([]int{2, 0}), "created and deleted, ever")
	}, lostAnswers)

	DescribeTable("leaves one webhook, and its URL in the Secret", func(ctx context.Context, way discordtest.Action) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		w.fault(discordtest.Fault{Route: postWebhook, Times: 1, Action: way})
		edit(ctx, c, withWebhook)
		eventuallyReady(ctx, c)
		w.expectRest(ctx)
		Expect(hooks(c)).To(HaveLen(1))
		Expect(w.deeds(webhookCreated)).To(Equal(1), "created, ever")
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
	}, lostAnswers)

	It("leaves one channel and one webhook when both answers of a new channel are lost", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: discordtest.DropAfter()})
		w.fault(discordtest.Fault{Route: postWebhook, Times: 1, Action: discordtest.DropAfter()})
		c := w.channel("", "alerts", withWebhook)
		ready(ctx, c)
		Expect(w.named("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(hooks(c)).To(HaveLen(1))
		Expect([]int{w.deeds(channelCreated), w.deeds(webhookCreated)}).To(Equal([]int{1, 1}))
	})

	It("is told while its result is looked for", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		w.fault(discordtest.Fault{Route: postChannel, Action: discordtest.FailBefore(500)})
		c := w.channel("", "alerts")
		create(ctx, c)
		Expect(eventuallyProgressing(ctx, c, "CreatePending")).To(ContainSubstring("create"))
		Expect(c).To(HaveCondition("Available", "False", "NotOnDiscord"))
		discord.Faults().Clear()
		eventuallyReady(ctx, c)
		Expect(w.named("alerts")).To(HaveLen(1))
	})

	It("is found although the audit log never tells of it", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		discord.Faults().LoseAudit(-1)
		DeferCleanup(func() { discord.Faults().LoseAudit(0) })
		w.fault(discordtest.Fault{Route: postChannel, Times: 2, Action: discordtest.DropAfter()})
		c, g := w.channel("", "alerts"), w.group("alarms")
		ready(ctx, c, g)
		Expect(w.named("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.named("alarms")).To(ConsistOf(g.Status.GroupID))
		Expect(eventsOf(c)(ctx)).To(ContainElement("Normal Recovered"))
	})

	It("never takes for its result what somebody else has made under the same name", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		stranger := discord.CreateChannelByHand(w.guild, discordtest.Channel{Name: "alerts"})
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: discordtest.FailBefore(500)})
		c := w.channel("", "alerts")
		ready(ctx, c)
		Expect(c.Status.ChannelID).NotTo(Equal(stranger))
		Expect(w.named("alerts")).To(ConsistOf(stranger, c.Status.ChannelID))
	})

	It("that several objects of the same name are in leaves one channel for each", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
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
		Expect(w.deeds(channelCreated)).To(Equal(3))
	})

	It("whose object is deleted meanwhile leaves nothing", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		release := w.held(postChannel)
		c := w.channel("", "alerts")
		create(ctx, c)
		Eventually(func() []string { return w.named("alerts") }).Should(HaveLen(1))
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		restartAfterCrash(ctx, release)
		eventuallyGone(ctx, c)
		Expect(w.named("alerts")).To(BeEmpty())
	})

	It("is found after the operator was killed between the create and the status", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		release := w.held(postChannel)
		c := w.channel("", "alerts")
		create(ctx, c)
		Eventually(func() []string { return w.named("alerts") }).Should(HaveLen(1))
		restartAfterCrash(ctx, release)
		eventuallyReady(ctx, c)
		Expect(w.named("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(w.deeds(channelCreated)).To(Equal(1))
	})

	It("is found for a webhook too after the operator was killed", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		release := w.held(postWebhook)
		edit(ctx, c, withWebhook)
		Eventually(func() int { return w.deeds(webhookCreated) }).Should(Equal(1))
		restartAfterCrash(ctx, release)
		eventuallyReady(ctx, c)
		Expect(hooks(c)).To(HaveLen(1))
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
	})

	It("may have its effect after the operator that asked for it was killed", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		asked := make(chan struct{})
		w.fault(discordtest.Fault{
			Route: postChannel, Times: 1, Action: discordtest.Slow(time.Second, 0),
			Match: func(discordtest.Request) bool { close(asked); return true },
		})
		c := w.channel("", "alerts")
		create(ctx, c)
		Eventually(asked).Should(BeClosed())
		restartAfterCrash(ctx, func() {})
		eventuallyReady(ctx, c)
		w.expectRest(ctx)
		Expect(w.named("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect([]int{w.deeds(channelCreated), w.deeds(channelDeleted)}).To(Equal([]int{1, 0}), "created and deleted, ever")
	})

	It("may have its effect long after the answer", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		late := discordtest.GiveUp(504, recoveryWait*3/4) // a webhook's result is looked for at once, and once more before another one is made
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: late})
		w.fault(discordtest.Fault{Route: postWebhook, Times: 1, Action: late})
		c := w.channel("", "alerts", withWebhook)
		ready(ctx, c)
		w.expectRest(ctx)
		Expect(w.named("alerts")).To(ConsistOf(c.Status.ChannelID))
		Expect(hooks(c)).To(HaveLen(1))
		Expect([]int{w.deeds(channelCreated), w.deeds(webhookCreated)}).To(Equal([]int{1, 1}), "created, ever")
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(hooks(c)[0]))
	})
})
