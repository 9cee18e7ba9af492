// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

// roomRetryPeriod exceeds the operator's pause between two checks of a limit.
const roomRetryPeriod = 90 * time.Second

var _ = Describe("A limit of Discord", func() {
	It("for one category or channel is reported, without a write to Discord, "+
		"until there is room", SpecPriority(1), func(ctx context.Context) {
		w := newWorld(ctx)
		category := w.categoryByHand("full")
		hookedID := w.channelByHand(discordtest.Channel{Name: "hooked"})
		var children, hooks []string
		for i := range 50 {
			children = append(children,
				w.channelByHand(discordtest.Channel{Name: fmt.Sprintf("child-%d", i), ParentID: category}))
		}
		for i := range 15 {
			hooks = append(hooks, discord.CreateWebhookByHand(hookedID, fmt.Sprintf("hook-%d", i)).ID)
		}
		full, hooked, moving := w.group("full", groupAdopting(category)), w.channel("", "hooked", adopting(hookedID)),
			w.channel("", "moving")
		ready(ctx, w.server(), full, hooked, moving)
		before := len(w.edits())

		inside := w.channel("full", "inside")
		create(ctx, inside)
		edit(ctx, moving,
			with(func(s *channelSpec) { s.ServerRef, s.GroupRef = nil, &v1alpha1.GroupReference{Name: "full"} }))
		edit(ctx, hooked, withWebhook)
		Expect(eventuallyDegraded(ctx, inside, "LimitReached")).To(ContainSubstring("The category has 50 channels"))
		Expect(eventuallyDegraded(ctx, moving, "LimitReached")).To(ContainSubstring("The category has 50 channels"))
		Expect(eventuallyDegraded(ctx, hooked, "LimitReached")).To(ContainSubstring("The channel has 15 webhooks"))
		Expect(moving).To(HaveCondition("Available", "True", "OnDiscord"))
		Expect(w.edits()[before:]).To(BeEmpty(), "no call that Discord would refuse")
		Eventually(ctx, eventsOf(inside)).Should(ContainElement("Warning LimitReached"))

		discord.DeleteChannelByHand(children[0])
		discord.DeleteChannelByHand(children[1])
		discord.DeleteWebhookByHand(hooks[0])
		for _, c := range []*v1alpha1.DiscordChannel{hooked, inside, moving} {
			Eventually(ctx, refetch(c)).WithTimeout(roomRetryPeriod).
				Should(HaveCondition("Ready", "True", ""), "%s should continue", c.Name)
		}
		Expect(on(moving).ParentID).To(Equal(full.Status.GroupID))
	})

	DescribeTable("for a whole server is reported, without a write to Discord",
		func(ctx context.Context, kind, n int, what string, last func(*world) client.Object) {
			w := newWorld(ctx)
			for i := range n {
				w.channelByHand(discordtest.Channel{Type: kind, Name: fmt.Sprintf("by-hand-%d", i)})
			}
			ready(ctx, w.server())
			o := last(w)
			create(ctx, o)
			Expect(eventuallyDegraded(ctx, o, "LimitReached")).To(And(ContainSubstring(what), ContainSubstring("Delete some")))
			Expect(w.edits()).To(BeEmpty())
			Expect(discord.Guild(w.guild).Channels).To(HaveLen(n))
		},
		Entry("a new channel in a server with 500 channels", discordtest.TypeText, 500, "500 channels and categories",
			func(w *world) client.Object { return w.channel("", "last") }),
		Entry("a new group in a server with 500 channels", discordtest.TypeText, 500, "500 channels and categories",
			func(w *world) client.Object { return w.group("last") }),
		Entry("a new group in a server with 50 categories", discordtest.TypeCategory, 50, "50 categories",
			func(w *world) client.Object { return w.group("last") }),
	)

	It("that only Discord's response reveals is reported, and the call is not repeated", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		w.fault(discordtest.Fault{Route: postChannel, Action: discordtest.Action{Status: 400,
			Body: `{"code": 30013, "message": "Maximum number of guild channels reached (500)"}`}})
		c := w.channel("", "alerts")
		create(ctx, c)
		Expect(eventuallyDegraded(ctx, c, "LimitReached")).To(ContainSubstring("Maximum number of guild channels"))
		w.expectIdle(ctx)
		Expect(w.edits()).To(Equal([]string{postChannel}))
	})
})
