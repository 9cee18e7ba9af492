// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

type managed struct {
	*world
	server  *v1alpha1.DiscordServer
	group   *v1alpha1.DiscordGroup
	channel *v1alpha1.DiscordChannel // in the group, with a webhook
	below   *v1alpha1.DiscordChannel // in the group, ordered after channel
}

func newManaged(ctx context.Context) *managed {
	GinkgoHelper()
	w := newWorld(ctx)
	sensei := discord.AddRole(w.guild, "Sensei", 0)
	private := []v1alpha1.PermissionOverwrite{
		{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}},
		{Role: sensei, Allow: []v1alpha1.Permission{"SendMessages"}},
	}
	m := &managed{
		world: w,
		server: w.server(func(s *v1alpha1.DiscordServer) {
			s.Spec.Name, s.Spec.Description = "Jujutsu High", new("The school")
			s.Spec.VerificationLevel, s.Spec.AFKTimeout = v1alpha1.VerificationLevelHigh, "15m"
		}),
		group: w.group("incidents", groupOverwrites(private...)),
		channel: w.channel("incidents", "tokyo", withWebhook, slowmode(30), func(c *v1alpha1.DiscordChannel) {
			c.Spec.Type, c.Spec.Topic, c.Spec.NSFW, c.Spec.Position = v1alpha1.ChannelTypeText, new("What is wrong"),
				new(false), new(int32(0))
			c.Spec.DefaultAutoArchive, c.Spec.PermissionOverwrites = v1alpha1.AutoArchiveOneDay, private
		}),
		below: w.channel("incidents", "kyoto", func(c *v1alpha1.DiscordChannel) { c.Spec.Position = new(int32(1)) }),
	}
	ready(ctx, m.server, m.group, m.channel, m.below)
	return m
}

// live returns the channel on Discord without its position, because the operator manages only the
// order of channels.
func (m *managed) live() discordtest.Channel {
	ch, _ := discord.Channel(m.channel.Status.ChannelID)
	ch.Position = 0
	return ch
}

func (m *managed) order() string {
	var names []string
	for _, c := range discord.Guild(m.guild).Channels {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// expectCorrected expects that the operator undoes a change by hand, and returns the duration.
func expectCorrected[T any](ctx context.Context, what func() T, change func()) time.Duration {
	GinkgoHelper()
	before := what()
	start := time.Now()
	change() // the operator may undo the change before the first poll
	Eventually(ctx, what).WithPolling(5*time.Millisecond).Should(Equal(before), "the change by hand should be undone")
	return time.Since(start)
}

func (m *managed) editByHand(change func(*discordtest.Channel)) func() {
	return func() { discord.EditChannelByHand(m.channel.Status.ChannelID, change) }
}

var channelChanges = map[string]func(*discordtest.Channel){
	"name":               func(c *discordtest.Channel) { c.Name = "renamed" },
	"topic":              func(c *discordtest.Channel) { c.Topic = "" },
	"nsfw":               func(c *discordtest.Channel) { c.NSFW = true },
	"slowmode":           func(c *discordtest.Channel) { c.RateLimitPerUser = 0 },
	"defaultAutoArchive": func(c *discordtest.Channel) { c.DefaultAutoArchive = 60 },
	"group":              func(c *discordtest.Channel) { c.ParentID = "" },
	"permissionOverwrites": func(c *discordtest.Channel) {
		c.Overwrites = append(slices.Clone(c.Overwrites),
			discordtest.Overwrite{ID: "123456789012345678", Type: 1, Allow: discordtest.PermViewChannel})
	},
}

var _ = Describe("Drift", func() {
	Describe("while the Gateway is up", func() {
		for field, change := range channelChanges {
			It("is corrected in the "+field+" of a channel", func(ctx context.Context) {
				m := newManaged(ctx)
				before, counted := len(m.edits()), driftCount(ctx, "DiscordChannel", field)
				expectCorrected(ctx, m.live, m.editByHand(change))
				Expect(m.edits()[before:]).To(HaveLen(1), "all of it is corrected in one call")
				Eventually(ctx, driftCount).WithArguments("DiscordChannel", field).Should(Equal(counted + 1))
				Eventually(ctx, eventsOf(m.channel)).Should(ContainElement("Normal DriftCorrected"))
				eventuallyReady(ctx, m.channel)
			})
		}

		It("is corrected in one call when the event of the Gateway is late", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()})
			m := newManaged(ctx)
			discord.Gateway().SetFaults(discordtest.GatewayFaults{
				Delay: func(string) time.Duration { return 500 * time.Millisecond },
			})
			before := len(m.edits())
			expectCorrected(ctx, m.live, m.editByHand(channelChanges["slowmode"]))
			expectCorrected(ctx, m.live, m.editByHand(channelChanges["nsfw"]))
			m.expectIdle(ctx)
			Expect(m.edits()[before:]).To(HaveLen(2), "late events of the operator's edits cause no further edit")
			eventuallyReady(ctx, m.channel)
		})

		It("is corrected when its event is lost "+
			"and the next event's sequence number reveals the loss", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()})
			m := newManaged(ctx)
			discord.Gateway().SetFaults(discordtest.GatewayFaults{
				LoseOnWire: func(event string) bool { return event == "CHANNEL_UPDATE" },
			})
			expectCorrected(ctx, m.live, func() {
				m.editByHand(channelChanges["slowmode"])()
				discord.Gateway().SetFaults(discordtest.GatewayFaults{})
				discord.AddRole(m.guild, "Student", 0)
			})
			eventuallyReady(ctx, m.channel)
		})

		It("is corrected in one call when many fields have changed", func(ctx context.Context) {
			m := newManaged(ctx)
			before := len(m.edits())
			expectCorrected(ctx, m.live, m.editByHand(func(c *discordtest.Channel) {
				c.Name, c.Topic, c.NSFW, c.RateLimitPerUser, c.ParentID, c.Overwrites = "x", "y", true, 5, "", nil
			}))
			Expect(m.edits()[before:]).To(Equal([]string{patchChannel}))
		})

		It("is corrected within a second (median)", Serial, func(ctx context.Context) {
			m := newManaged(ctx)
			var took []time.Duration
			for range 5 { // Discord allows five edits of a channel in 15 s
				took = append(took, expectCorrected(ctx, m.live, m.editByHand(channelChanges["slowmode"])))
			}
			slices.Sort(took)
			AddReportEntry("corrected after", fmt.Sprint(took))
			Expect(took[len(took)/2]).To(BeNumerically("<", time.Second))
		})

		It("is corrected when a user changes the order of channels", func(ctx context.Context) {
			m := newManaged(ctx)
			before, counted := len(m.edits()), driftCount(ctx, "DiscordChannel", "position")
			expectCorrected(ctx, m.order, m.editByHand(func(c *discordtest.Channel) { c.Position = 9 }))
			Expect(m.edits()[before:]).To(Equal([]string{moveChannels}))
			Eventually(ctx, driftCount).WithArguments("DiscordChannel", "position").Should(BeNumerically(">", counted))
		})

		It("is corrected in the name and the overwrites of a category", func(ctx context.Context) {
			m := newManaged(ctx)
			category := func() discordtest.Channel {
				ch, _ := discord.Channel(m.group.Status.GroupID)
				return ch
			}
			counted := driftCount(ctx, "DiscordGroup", "name")
			expectCorrected(ctx, category, func() {
				discord.EditChannelByHand(m.group.Status.GroupID,
					func(c *discordtest.Channel) { c.Name, c.Overwrites = "Renamed", nil })
			})
			Eventually(ctx, driftCount).WithArguments("DiscordGroup", "name").Should(Equal(counted + 1))
			Eventually(ctx, eventsOf(m.group)).Should(ContainElement("Normal DriftCorrected"))
		})

		It("is corrected in the settings of a server", func(ctx context.Context) {
			m := newManaged(ctx)
			settings := func() []any {
				g := discord.Guild(m.guild)
				return []any{g.Name, g.Description, g.VerificationLevel, g.AFKTimeout}
			}
			counted := driftCount(ctx, "DiscordServer", "verificationLevel")
			before := len(m.edits())
			expectCorrected(ctx, settings, func() {
				discord.EditGuildByHand(m.guild, func(g *discordtest.Guild) {
					g.Name, g.Description, g.VerificationLevel, g.AFKTimeout = "Kyoto", "", 0, 300
				})
			})
			Expect(m.edits()[before:]).To(Equal([]string{patchGuild}))
			Eventually(ctx, driftCount).WithArguments("DiscordServer", "verificationLevel").Should(Equal(counted + 1))
			Eventually(ctx, eventsOf(m.server)).Should(ContainElement("Normal DriftCorrected"))
		})

		It("stays in fields that the spec leaves out", func(ctx context.Context) {
			m := newManaged(ctx)
			discord.EditChannelByHand(m.below.Status.ChannelID, func(c *discordtest.Channel) {
				c.Topic, c.NSFW, c.RateLimitPerUser, c.Overwrites = "mine", true, 10, nil
			})
			discord.EditGuildByHand(m.guild,
				func(g *discordtest.Guild) { g.ExplicitContentFilter, g.DefaultNotifications = 2, 1 })
			before := len(m.edits())
			m.expectIdle(ctx)
			Expect(m.edits()[before:]).To(BeEmpty())
			live, _ := discord.Channel(m.below.Status.ChannelID)
			Expect(live).To(And(HaveField("Topic", "mine"), HaveField("NSFW", true), HaveField("RateLimitPerUser", 10)))
		})

		It("is corrected by a new channel and webhook when a user deletes the channel", func(ctx context.Context) {
			m := newManaged(ctx)
			before, counted := m.live(), driftCount(ctx, "DiscordChannel", "existence")
			secret := webhookURL(ctx, m.channel)
			discord.DeleteChannelByHand(before.ID)
			Eventually(ctx, refetch(m.channel)).ShouldNot(HaveField("Status.ChannelID", before.ID))
			eventuallyReady(ctx, m.channel)

			after := m.live()
			Expect(after.ID).NotTo(Equal(before.ID))
			before.ID, before.Position = after.ID, after.Position
			Expect(after).To(Equal(before))
			Expect(discord.Guild(m.guild).Channels).To(HaveLen(3))
			Expect(discord.Guild(m.guild).Webhooks).To(ConsistOf(HaveField("ChannelID", after.ID)))
			Expect(webhookURL(ctx, m.channel)).NotTo(Equal(secret))
			Eventually(ctx, driftCount).WithArguments("DiscordChannel", "existence").Should(Equal(counted + 1))
		})

		It("is corrected by a new category with the same channels "+
			"when a user deletes the category", func(ctx context.Context) {
			m := newManaged(ctx)
			before := m.group.Status.GroupID
			discord.DeleteChannelByHand(before)
			Eventually(ctx, refetch(m.group)).ShouldNot(HaveField("Status.GroupID", before))
			eventuallyReady(ctx, m.group)
			for _, c := range []*v1alpha1.DiscordChannel{m.channel, m.below} {
				Eventually(ctx, func() string {
					live, _ := discord.Channel(c.Status.ChannelID)
					return live.ParentID
				}).Should(Equal(m.group.Status.GroupID))
				eventuallyReady(ctx, c)
			}
			Expect(discord.Guild(m.guild).Channels).To(HaveLen(3))
		})

		It("is corrected by a new webhook, with its URL in the Secret, "+
			"when a user deletes the webhook", func(ctx context.Context) {
			m := newManaged(ctx)
			secret := webhookURL(ctx, m.channel)
			discord.DeleteWebhookByHand(m.channel.Status.Webhook.ID)
			Eventually(ctx, func() []discordtest.Webhook { return discord.Guild(m.guild).Webhooks }).Should(HaveLen(1))
			Eventually(ctx, func() string { return webhookURL(ctx, m.channel) }).ShouldNot(Equal(secret))
			eventuallyReady(ctx, m.channel)
			hook := hooks(m.channel)[0]
			Expect(webhookURL(ctx, m.channel)).To(HaveSuffix("/" + hook.ID + "/" + hook.Token))
		})
	})

	It("of an object's status in Kubernetes is corrected without a call to Discord", func(ctx context.Context) {
		m := newManaged(ctx)
		m.expectIdle(ctx)
		calls := len(m.calls())
		for _, o := range []client.Object{m.server, m.group, m.channel} {
			before := refetch(o)
			Expect(k8s.Status().Patch(ctx, o, mergePatch("status", `{observedGeneration: 0, conditions: []}`))).To(Succeed())
			Eventually(ctx, before).Should(HaveCondition("Ready", "True", "Reconciled"), "%T", o)
		}
		Expect(m.calls()[calls:]).To(BeEmpty(), "no call to Discord is needed")
	})

	Describe("while the Gateway is down", func() {
		It("is corrected at the next resync, which costs four calls for 12 channels", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()}, "--resync-period=1s")
			m := newManaged(ctx)
			for i := range 10 {
				ready(ctx, m.world.channel("incidents", fmt.Sprintf("more-%d", i)))
			}
			discord.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
			discord.Gateway().Drop(0)
			expectCorrected(ctx, m.live, m.editByHand(channelChanges["slowmode"]))
			expectCorrected(ctx, m.live, m.editByHand(channelChanges["permissionOverwrites"]))

			const periods = 5
			edits, calls := m.edits(), m.calls()
			Consistently(ctx, func() []string { return since(edits, m.edits()) }).WithTimeout(periods * time.Second).
				Should(BeEmpty())
			polled := map[string]int{}
			for _, route := range since(calls, m.calls()) {
				polled[route]++
			}
			delete(polled, "GET /gateway/bot") // an attempt to reconnect to the Gateway, not a poll
			Expect(polled).To(HaveLen(4), "the guild, its channels, its webhooks, and the bot as a member")
			Expect(polled).To(HaveEach(And(BeNumerically(">=", 1), BeNumerically("<=", periods+2))), "%v", polled)

			discord.Gateway().SetFaults(discordtest.GatewayFaults{})
			Eventually(ctx, func() int { return discord.Gateway().Stats().Open }).Should(BeNumerically(">", 0))
			expectCorrected(ctx, m.live, m.editByHand(channelChanges["nsfw"]))
		})

		It("is corrected after a reconnect although the Gateway sent no event of the change", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()})
			m := newManaged(ctx)
			discord.Gateway().SetFaults(discordtest.GatewayFaults{
				Miss: func(event string) bool { return event == "CHANNEL_UPDATE" || event == "CHANNEL_DELETE" },
			})
			gone := m.below.Status.ChannelID
			discord.DeleteChannelByHand(gone)
			expectCorrected(ctx, m.live, func() {
				m.editByHand(channelChanges["slowmode"])()
				discord.Gateway().SetFaults(discordtest.GatewayFaults{})
				discord.Gateway().Drop(0)
			})
			Eventually(ctx, refetch(m.below)).ShouldNot(HaveField("Status.ChannelID", gone))
			eventuallyReady(ctx, m.below)
		})
	})
})
