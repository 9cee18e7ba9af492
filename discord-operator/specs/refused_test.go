// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("A channel with a setting that Discord refuses", func() {
	const closes = discordtest.PermSendMessages
	closing := func(c *v1alpha1.DiscordChannel) {
		c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{
			{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}},
		}
	}
	closed := func(_ *world, c *v1alpha1.DiscordChannel) func() []discordtest.Overwrite {
		return func() []discordtest.Overwrite { return on(c).Overwrites }
	}
	isClosed := func(w *world) OmegaMatcher {
		return ContainElement(discordtest.Overwrite{ID: w.guild, Deny: closes})
	}

	DescribeTable("still gets its permission overwrites", func(ctx context.Context, reason, message string,
		change func(*v1alpha1.ChannelVoice), refuse func(*world),
	) {
		w := newCommunity(ctx)
		hall := w.channel("", "hall", ofType(v1alpha1.ChannelTypeVoice,
			voice(func(v *v1alpha1.ChannelVoice) { v.UserLimit = new(int32(3)) })))
		ready(ctx, w.server(), hall)
		refuse(w)
		edit(ctx, hall, func(c *v1alpha1.DiscordChannel) {
			closing(c)
			c.Spec.Voice.UserLimit = new(int32(7))
			change(c.Spec.Voice)
		})
		Expect(eventuallyDegraded(ctx, hall, reason)).To(ContainSubstring(message))
		Eventually(ctx, closed(w, hall)).Should(isClosed(w))
		w.expectIdle(ctx)
		Expect(calls(w.edits(), "PATCH /channels/{channel_id}")).To(BeNumerically("<=", 5), "refusals should end")

		By("being Ready after the setting leaves the spec")
		edit(ctx, hall, func(c *v1alpha1.DiscordChannel) {
			c.Spec.Voice = &v1alpha1.ChannelVoice{UserLimit: new(int32(7))}
		})
		eventuallyReady(ctx, hall)
		Expect(on(hall).UserLimit).To(Equal(7))
	},
		Entry("if the operator foresees the refusal", "BitrateTooHigh", "at most 96000",
			func(v *v1alpha1.ChannelVoice) { v.Bitrate = new(int32(128000)) }, func(*world) {}),
		Entry("if Discord's response names the setting", "Refused", "rtc_region",
			func(v *v1alpha1.ChannelVoice) { v.Region = new("atlantis") }, func(*world) {}),
		Entry("if Discord's response does not name the setting", "Refused", "Invalid Form Body",
			func(v *v1alpha1.ChannelVoice) { v.Region = new("japan") }, func(*world) {
				DeferCleanup(discord.Faults().Add(discordtest.Fault{
					Route:  "PATCH /channels/{channel_id}",
					Match:  func(r discordtest.Request) bool { return strings.Contains(string(r.Body), `"rtc_region":"japan"`) },
					Action: discordtest.Action{Status: 400, Body: `{"message": "Invalid Form Body", "code": 50035}`},
				}))
			}),
	)
})

func calls(list []string, route string) (n int) {
	for _, c := range list {
		if c == route {
			n++
		}
	}
	return n
}
