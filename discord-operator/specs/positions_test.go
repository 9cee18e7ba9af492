// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func groupPosition(n int32) func(*v1alpha1.DiscordGroup) {
	return func(g *v1alpha1.DiscordGroup) { g.Spec.Position = &n }
}

var _ = Describe("Positions", func() {
	It("are corrected when channels and groups are created in another order", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server(), w.group("z", groupPosition(30)))
		objects := []client.Object{w.group("y", groupPosition(20)), w.group("x", groupPosition(10))}
		var want []string
		for i := range int32(12) { // few enough that no create waits for Discord's limit
			objects = append(objects, w.channel("z", fmt.Sprintf("channel-%02d", 11-i), position(11-i)))
			want = append(want, fmt.Sprintf("channel-%02d", i))
		}
		ready(ctx, objects...)
		w.expectIdle(ctx)
		Expect(w.namesIn(w.idsNamed("z")[0])).To(Equal(want))
		Expect(w.namesIn("categories")).To(Equal([]string{"x", "y", "z"}))
		Expect(w.bodies(patchChannel)).To(BeEmpty(), "a position is never set channel by channel")
		for _, name := range want {
			Expect(w.writesTo("discordchannels", name)).To(HaveLen(2), "the position should cause no further write")
		}
		w.expectInSync(ctx, objects...)
	})

	It("of 12 channels change by one call", func(ctx context.Context) {
		w := newWorld(ctx)
		objects := []client.Object{w.server(), w.group("g")}
		for i := range int32(12) {
			objects = append(objects, w.channel("g", fmt.Sprintf("channel-%02d", i), position(i+1)))
		}
		ready(ctx, objects...)
		w.expectIdle(ctx)
		before := len(w.edits())
		last := objects[13].(*v1alpha1.DiscordChannel)
		edit(ctx, last, with(func(s *channelSpec) { s.Position = new(int32(0)) }))
		eventuallyReady(ctx, last)
		w.expectIdle(ctx)
		Expect(w.namesIn(w.idsNamed("g")[0])).
			To(HaveExactElements("channel-11", "channel-00", "channel-01", "channel-02", "channel-03", "channel-04",
				"channel-05", "channel-06", "channel-07", "channel-08", "channel-09", "channel-10"))
		Expect(w.edits()[before:]).To(Equal([]string{moveChannels}))
		w.expectInSync(ctx, objects...)
	})

	It("are relative, so gaps, equal numbers and unmanaged channels cause no move", func(ctx context.Context) {
		w := newWorld(ctx)
		byHand := func(name string, at int) string {
			return w.channelByHand(discordtest.Channel{Name: name, Position: at})
		}
		var objects []client.Object
		for i, at := range []int{40, 41, 41, 900} {
			name := fmt.Sprintf("mine-%d", i)
			objects = append(objects, w.channel("", name, adopting(byHand(name, at)), position(int32(i))))
		}
		for i := range 50 {
			byHand(fmt.Sprintf("unmanaged-%02d", i), i)
		}
		ready(ctx, append(objects, w.server())...)
		w.expectInSync(ctx, objects...)
		Expect(w.edits()).To(BeEmpty())
	})

	It("are corrected in one call after drift, and unmanaged channels keep their order", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b, c := w.channel("", "a", position(1)), w.channel("", "b", position(2)), w.channel("", "c", position(3))
		ready(ctx, w.server(), a, b, c)
		w.expectIdle(ctx)
		for i, name := range []string{"first", "second", "third"} {
			w.channelByHand(discordtest.Channel{Name: name, Position: i + 1})
		}
		before := len(w.edits())
		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Position = 0 })
		managed := func() []string {
			var names []string
			for _, name := range w.namesIn("") {
				if len(name) == 1 {
					names = append(names, name)
				}
			}
			return names
		}
		Eventually(managed).Should(Equal([]string{"a", "b", "c"}))
		w.expectIdle(ctx)
		Expect(w.edits()[before:]).To(Equal([]string{moveChannels}))
		var unowned []string
		for _, name := range w.namesIn("") {
			if len(name) > 1 {
				unowned = append(unowned, name)
			}
		}
		Expect(unowned).To(Equal([]string{"first", "second", "third"}))
		Eventually(ctx, eventsOf(c)).Should(ContainElement("Normal DriftCorrected"))
	})

	It("that the spec leaves out are not corrected after a user moves the channel", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b := w.channel("", "a"), w.channel("", "b", position(5))
		ready(ctx, w.server(), a, b)
		discord.EditChannelByHand(a.Status.ChannelID, func(ch *discordtest.Channel) { ch.Position = 77 })
		w.expectInSync(ctx, a, b)
		Expect(on(a).Position).To(Equal(77))
		Expect(w.edits()).To(Equal([]string{postChannel, postChannel}))
	})

	DescribeTable("move no channel", func(ctx context.Context, hold func(*v1alpha1.DiscordChannel)) {
		w := newWorld(ctx)
		held := w.channel("", "held", position(0))
		ready(ctx, w.server(), held)
		edit(ctx, held, func(c *v1alpha1.DiscordChannel) {
			hold(c)
			position(9)(c)
		})
		DeferCleanup(func(ctx context.Context) { // a paused channel is not deleted
			edit(ctx, held, func(c *v1alpha1.DiscordChannel) { delete(c.Annotations, v1alpha1.PausedAnnotation) })
		})
		before := on(held).Position
		managed := w.channel("", "managed", position(1)) // above the channel, by the numbers in the specs
		ready(ctx, managed)
		w.expectIdle(ctx)
		Expect(on(held).Position).To(Equal(before))
		Expect(w.edits()).To(Equal([]string{postChannel, postChannel}))
	},
		Entry("that is observed", func(c *v1alpha1.DiscordChannel) { observing(c) }),
		Entry("that is paused", func(c *v1alpha1.DiscordChannel) {
			c.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
		}),
	)

	It("order a moved channel in its new group", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b, moved := w.channel("g", "a", position(1)), w.channel("g", "b", position(3)),
			w.channel("", "moved", position(2))
		ready(ctx, w.server(), w.group("g"), a, b, moved)
		edit(ctx, moved, with(func(s *channelSpec) { s.ServerRef, s.GroupRef = nil, &v1alpha1.GroupReference{Name: "g"} }))
		eventuallyReady(ctx, moved)
		w.expectIdle(ctx)
		Expect(w.namesIn(w.idsNamed("g")[0])).To(Equal([]string{"a", "moved", "b"}))
		w.expectInSync(ctx, a, b, moved)
	})
})
