package specs_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/discordtest"
)

// goesOn is how a message tells when a rate limit ends.
const goesOn = `It is retried by 20\d\d-\d\d-\d\d \d\d:\d\d UTC`

var _ = Describe("A rate limit", func() {
	// of narrows a fault to one channel.
	of := func(c *v1alpha1.DiscordChannel) func(discordtest.Request) bool {
		end := "/" + c.Status.ChannelID
		return func(r discordtest.Request) bool { return strings.HasSuffix(r.Path, end) }
	}

	It("of one channel is told with the time, and nobody else waits", func(ctx context.Context) {
		w := newWorld(ctx)
		held, free := w.channel("", "held"), w.channel("", "free")
		ready(ctx, w.server(), held, free)
		w.fault(discordtest.Fault{Route: patchChannel, Times: 1, Match: of(held), Action: discordtest.RateLimited(12*time.Second, "user")})
		edit(ctx, held, slowmode(5))
		Expect(eventuallyProgressing(ctx, held, "RateLimited")).To(And(ContainSubstring(`"edit channel"`), MatchRegexp(goesOn)))
		Expect(held).To(HaveCondition("Available", "True", "OnDiscord"))

		edit(ctx, free, slowmode(5))
		eventuallyReady(ctx, free)
		fresh := w.channel("", "fresh", withWebhook)
		ready(ctx, fresh)
		Expect(refetch(held)(ctx)).To(HaveCondition("Progressing", "True", "RateLimited"))
		eventuallyReady(ctx, held)
		Expect(on(held).RateLimitPerUser).To(Equal(5))
		Expect(w.bodies(patchChannel)).To(HaveLen(3), "held is asked for once and once more, and not in between")
	})

	It("of creates holds up no edit", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: discordtest.RateLimited(12*time.Second, "user")})
		g, late := w.group("alarms"), w.channel("", "late")
		create(ctx, g)
		Eventually(func() []string { return w.edits() }).Should(HaveLen(2))
		create(ctx, late)
		edit(ctx, c, slowmode(5))
		eventuallyReady(ctx, c)
		Expect(eventuallyProgressing(ctx, g, "RateLimited")).To(MatchRegexp(goesOn))
		Expect(eventuallyProgressing(ctx, late, "RateLimited")).To(ContainSubstring(`"create channel"`))
		Expect(late.Finalizers).To(BeEmpty(), "what is known to be refused is not intended either")
		eventuallyReady(ctx, g)
		eventuallyReady(ctx, late)
		Expect(w.bodies(postChannel)).To(HaveLen(4))
	})

	It("of a moment is not worth telling", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		w.expectRest(ctx)
		before := len(w.writesTo("discordchannels", "alerts"))
		w.fault(discordtest.Fault{Route: patchChannel, Times: 1, Action: discordtest.RateLimited(2*time.Second, "user")})
		edit(ctx, c, slowmode(5))
		eventuallyReady(ctx, c)
		Expect(w.writesTo("discordchannels", "alerts")[before:]).To(Equal([]string{"patch discordchannels/alerts/status"}))
	})

	It("that no header announces, of names and topics, holds back those alone", func(ctx context.Context) {
		l := limits()
		l.NameTopic = discordtest.Rate{N: 2, Per: 20 * time.Second}
		anotherDiscord(ctx, discordtest.Options{Limits: l})
		w := newWorld(ctx)
		c, g, other := w.channel("", "a", with(func(s *channelSpec) { s.Topic = ptr.To("0") })), w.group("a", func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "A" }), w.channel("", "other")
		ready(ctx, w.server(), c, g, other)
		for _, topic := range []string{"1", "2"} {
			edit(ctx, c, with(func(s *channelSpec) { s.Topic = &topic }))
			edit(ctx, g, func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "A" + topic })
			eventuallyReady(ctx, c)
			eventuallyReady(ctx, g)
		}
		edit(ctx, c, with(func(s *channelSpec) { s.Topic, s.Name, s.NSFW = ptr.To("3"), "b", ptr.To(true) }))
		edit(ctx, g, func(g *v1alpha1.DiscordGroup) {
			g.Spec.Name, g.Spec.PermissionOverwrites = "A3", []v1alpha1.PermissionOverwrite{denying("@everyone", "SendMessages")}
		})
		Expect(eventuallyProgressing(ctx, c, "RateLimited")).To(MatchRegexp(goesOn))
		eventuallyProgressing(ctx, g, "RateLimited")
		Expect(on(c)).To(And(HaveField("NSFW", true), HaveField("Topic", "2"), HaveField("Name", "a")), "the other fields of the same edit go through")
		Expect(category(g)).To(And(HaveField("Overwrites", HaveLen(1)), HaveField("Name", "A2")))

		edit(ctx, c, slowmode(5))
		Eventually(func() int { return on(c).RateLimitPerUser }).WithTimeout(5*time.Second).Should(Equal(5), "so does a later edit")
		edit(ctx, other, with(func(s *channelSpec) { s.Topic = ptr.To("mine") }))
		eventuallyReady(ctx, other)

		eventuallyReady(ctx, c)
		eventuallyReady(ctx, g)
		Expect(on(c)).To(And(HaveField("Topic", "3"), HaveField("Name", "b")))
		Expect(category(g).Name).To(Equal("A3"))
	})
})
