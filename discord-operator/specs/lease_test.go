// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func (w *world) channelNames() (names []string) {
	for _, c := range discord.Guild(w.guild).Channels {
		names = append(names, c.Name)
	}
	return names
}

var _ = Describe("A leader whose process is suspended until its Lease has expired", func() {
	const old, fresh = 6, 6

	It("exits when it resumes, and creates nothing that its successor creates", func(ctx context.Context) {
		flags := []string{"--lease-duration=20s", "--lease-renew-deadline=15s", "--lease-retry-period=500ms"}
		operator.Restart(ctx, flags...)
		w := newWorld(ctx)
		ready(ctx, w.server(), w.group("incidents"))
		var channels []*v1alpha1.DiscordChannel
		var names []string
		for i := range old + fresh {
			c := w.channel("incidents", fmt.Sprintf("channel-%02d", i))
			channels, names = append(channels, c), append(names, c.Name)
		}
		for _, c := range channels[:old] {
			ready(ctx, c)
		}
		w.expectIdle(ctx)

		first := operator.Process()
		before, err := operator.Leader(ctx)
		Expect(err).NotTo(HaveOccurred())
		operator.Start(ctx, flags...)
		DeferCleanup(first.Kill)
		Expect(first.Signal(syscall.SIGSTOP)).To(Succeed())
		Eventually(ctx, operator.Leader).WithTimeout(2*soon).Should(And(Not(BeEmpty()), Not(Equal(before))), "the standby takes over")
		Eventually(ctx, func() int { return discord.Gateway().Stats().Open }).Should(Equal(2),
			"the standby connects to the Gateway")

		// The create is slow, so that both processes see that a channel is missing before one creates it.
		w.fault(discordtest.Fault{Route: postChannel, Action: discordtest.Slow(time.Second, 0)})
		for _, c := range channels[:old] {
			discord.DeleteChannelByHand(c.Status.ChannelID)
		}
		Expect(first.Signal(syscall.SIGCONT)).To(Succeed())
		for _, c := range channels[old:] {
			create(ctx, c)
		}
		Eventually(ctx, first.Running).Should(BeFalse(), "the first process should exit, because it has lost the Lease")
		Expect(first.ExitCode()).To(Equal(1))
		Expect(first.Tail()).To(ContainSubstring("leader election lost"))

		for _, c := range channels {
			gone := c.Status.ChannelID
			Eventually(ctx, refetch(c)).Should(HaveField("Status.ChannelID", Not(BeElementOf("", gone))))
			eventuallyReady(ctx, c)
		}
		w.expectIdle(ctx)
		Expect(w.channelNames()).To(ConsistOf(append(names, "incidents")),
			"the category and each channel should exist once")
		Expect(w.audited(channelCreated)).To(Equal(1+2*old+fresh),
			"creates: the category once, each deleted channel twice, each other channel once")
	})
})
