// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const retriedBy = `The operator retries the call by 20\d\d-\d\d-\d\d \d\d:\d\d UTC`

var _ = Describe("A rate limit", func() {
	// long is the duration of a rate limit. Even on a busy machine, all other objects become Ready
	// in less time.
	const long = 20 * time.Second
	of := func(c *v1alpha1.DiscordChannel) func(discordtest.Request) bool {
		end := "/" + c.Status.ChannelID
		return func(r discordtest.Request) bool { return strings.HasSuffix(r.Path, end) }
	}

	It("of one channel delays no other object, "+
		"and the status says when the operator retries the call", func(ctx context.Context) {
		w := newWorld(ctx)
		limited, free := w.channel("", "limited"), w.channel("", "free")
		ready(ctx, w.server(), limited, free)
		w.fault(discordtest.Fault{Route: patchChannel, Times: 1, Match: of(limited),
			Action: discordtest.RateLimited(long, "user")})
		edit(ctx, limited, slowmode(5))
		Expect(eventuallyProgressing(ctx, limited, "RateLimited")).
			To(And(ContainSubstring(`"edit channel"`), MatchRegexp(retriedBy)))
		Expect(limited).To(HaveCondition("Available", "True", "OnDiscord"))

		edit(ctx, free, slowmode(5))
		eventuallyReady(ctx, free)
		fresh := w.channel("", "fresh", withWebhook)
		ready(ctx, fresh)
		Expect(refetch(limited)(ctx)).To(HaveCondition("Progressing", "True", "RateLimited"))
		eventuallyReady(ctx, limited)
		Expect(on(limited).RateLimitPerUser).To(Equal(5))
		Expect(w.bodies(patchChannel)).To(HaveLen(3), "one edit of free, and two of limited: none during the limit")
	})

	It("of creates delays no edit", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		w.fault(discordtest.Fault{Route: postChannel, Times: 1, Action: discordtest.RateLimited(long, "user")})
		g, late := w.group("incidents"), w.channel("", "late")
		create(ctx, g)
		Eventually(func() []string { return w.edits() }).Should(HaveLen(2))
		create(ctx, late)
		edit(ctx, c, slowmode(5))
		eventuallyReady(ctx, c)
		Expect(eventuallyProgressing(ctx, g, "RateLimited")).To(MatchRegexp(retriedBy))
		Expect(eventuallyProgressing(ctx, late, "RateLimited")).To(ContainSubstring(`"create channel"`))
		Expect(late.Finalizers).To(BeEmpty(), "a create that is known to be refused adds no finalizer")
		eventuallyReady(ctx, g, late)
		Expect(w.bodies(postChannel)).To(HaveLen(4))
	})

	It("of a few seconds is not reported in the status", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		w.expectIdle(ctx)
		before := len(w.writesTo("discordchannels", "alerts"))
		w.fault(discordtest.Fault{Route: patchChannel, Times: 1, Action: discordtest.RateLimited(2*time.Second, "user")})
		edit(ctx, c, slowmode(5))
		eventuallyReady(ctx, c)
		Eventually(ctx, func() []string { return w.writesTo("discordchannels", "alerts")[before:] }).
			Should(Equal([]string{"patch discordchannels/alerts/status"}),
				"the audit log of Kubernetes has the write a moment later")
	})

	It("of name and topic edits delays no edit of another field, "+
		"although no header announces the limit", func(ctx context.Context) {
		l := limits()
		l.NameTopic = discordtest.Rate{N: 2, Per: 30 * time.Second}
		anotherDiscord(ctx, discordtest.Options{Limits: l})
		w := newWorld(ctx)
		c, g, other := w.channel("", "a", with(func(s *channelSpec) { s.Topic = new("0") })),
			w.group("a", func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "A" }), w.channel("", "other")
		ready(ctx, w.server(), c, g, other)
		for _, topic := range []string{"1", "2"} {
			edit(ctx, c, with(func(s *channelSpec) { s.Topic = &topic }))
			edit(ctx, g, func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "A" + topic })
			eventuallyReady(ctx, c, g)
		}
		edit(ctx, c, with(func(s *channelSpec) { s.Topic, s.Name, s.NSFW = new("3"), "b", new(true) }))
		edit(ctx, g, func(g *v1alpha1.DiscordGroup) {
			g.Spec.Name, g.Spec.PermissionOverwrites = "A3",
				[]v1alpha1.PermissionOverwrite{denying("@everyone", "SendMessages")}
		})
		Expect(eventuallyProgressing(ctx, c, "RateLimited")).To(MatchRegexp(retriedBy))
		eventuallyProgressing(ctx, g, "RateLimited")
		Expect(on(c)).To(And(HaveField("NSFW", true), HaveField("Topic", "2"), HaveField("Name", "a")),
			"the other fields of the same edit are applied")
		Expect(category(g)).To(And(HaveField("Overwrites", HaveLen(1)), HaveField("Name", "A2")))

		edit(ctx, c, slowmode(5))
		Eventually(func() discordtest.Channel { return on(c) }).
			Should(And(HaveField("RateLimitPerUser", 5), HaveField("Topic", "2")),
				"a later edit should also be applied before the limit ends")
		edit(ctx, other, with(func(s *channelSpec) { s.Topic = new("mine") }))
		eventuallyReady(ctx, other)

		Eventually(ctx, refetch(c)).WithTimeout(2 * soon).Should(HaveCondition("Ready", "True", ""))
		Eventually(ctx, refetch(g)).WithTimeout(2 * soon).Should(HaveCondition("Ready", "True", ""))
		Expect(on(c)).To(And(HaveField("Topic", "3"), HaveField("Name", "b")))
		Expect(category(g).Name).To(Equal("A3"))
	})
})
