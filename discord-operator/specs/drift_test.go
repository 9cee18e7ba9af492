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
	"jutsu.com/operators/libs/discordclient/discordtest"
)

// managed is a world in which every setting is managed that people may change by hand.
type managed struct {
	*world
	server  *v1alpha1.DiscordServer
	group   *v1alpha1.DiscordGroup
	channel *v1alpha1.DiscordChannel // with a webhook, in the group
	below   *v1alpha1.DiscordChannel // in the group, below that channel
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
		group: w.group("alarms", func(g *v1alpha1.DiscordGroup) { g.Spec.PermissionOverwrites = private }),
		channel: w.channel("alarms", "tokyo", withWebhook, slowmode(30), func(c *v1alpha1.DiscordChannel) {
			c.Spec.Type, c.Spec.Topic, c.Spec.NSFW, c.Spec.Position = v1alpha1.ChannelTypeText, new("What is wrong"), new(false), new(int32(0))
			c.Spec.DefaultAutoArchive, c.Spec.PermissionOverwrites = v1alpha1.AutoArchiveOneDay, private
		}),
		below: w.channel("alarms", "kyoto", func(c *v1alpha1.DiscordChannel) { c.Spec.Position = new(int32(1)) }),
	}
	ready(ctx, m.server, m.group, m.channel, m.below)
	return m
}

// live is the channel as it is on Discord. Of its position only the order counts.
func (m *managed) live() discordtest.Channel {
	ch, _ := discord.Channel(m.channel.Status.ChannelID)
	ch.Position = 0
	return ch
}

// order is what the channels of the guild are called, in the order in which Discord shows them.
func (m *managed) order() string {
	var names []string
	for _, c := range discord.Guild(m.guild).Channels {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// repaired measures how long it takes until something that was changed by hand is as it was.
func repaired[T any](ctx context.Context, what func() T, change func()) time.Duration {
	GinkgoHelper()
	before := what()
	start := time.Now()
	change() // it may be undone before anybody can look
	Eventually(ctx, what).WithPolling(5*time.Millisecond).Should(Equal(before), "the change by hand should be undone")
	return time.Since(start)
}

func (m *managed) editByHand(change func(*discordtest.Channel)) func() {
	return func() { discord.EditChannelByHand(m.channel.Status.ChannelID, change) }
}

// channelChanges are the changes that people make to a channel, by the field of the spec that is concerned.
var channelChanges = map[string]func(*discordtest.Channel){
	"name":               func(c *discordtest.Channel) { c.Name = "renamed" },
	"topic":              func(c *discordtest.Channel) { c.Topic = "" },
	"nsfw":               func(c *discordtest.Channel) { c.NSFW = true },
	"slowmode":           func(c *discordtest.Channel) { c.RateLimitPerUser = 0 },
	"defaultAutoArchive": func(c *discordtest.Channel) { c.DefaultAutoArchive = 60 },
	"group":              func(c *discordtest.Channel) { c.ParentID = "" },
	"permissionOverwrites": func(c *discordtest.Channel) {
		c.Overwrites = append(slices.Clone(c.Overwrites), discordtest.Overwrite{ID: "123456789012345678", Type: 1, Allow: discordtest.PermViewChannel})
	},
}

var _ = Describe("What people change on Discord by hand", func() {
	Describe("while the Gateway is up", func() {
		for field, change := range channelChanges {
			It("goes back: the "+field+" of a channel", func(ctx context.Context) {
				m := newManaged(ctx)
				before, counted := len(m.edits()), driftCount(ctx, "DiscordChannel", field)
				repaired(ctx, m.live, m.editByHand(change))
				Expect(m.edits()[before:]).To(HaveLen(1), "all is put right in one call")
				Expect(driftCount(ctx, "DiscordChannel", field)).To(Equal(counted + 1))
				Eventually(ctx, eventsOf(m.channel)).Should(ContainElement("Normal DriftCorrected"))
				eventuallyReady(ctx, m.channel)
			})
		}

		It("goes back when the Gateway tells of it late, in one call", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()})
			m := newManaged(ctx)
			discord.Gateway().SetFaults(discordtest.GatewayFaults{Delay: func(string) time.Duration { return 500 * time.Millisecond }})
			before := len(m.edits())
			repaired(ctx, m.live, m.editByHand(channelChanges["slowmode"]))
			repaired(ctx, m.live, m.editByHand(channelChanges["nsfw"]))
			m.expectRest(ctx)
			Expect(m.edits()[before:]).To(HaveLen(2), "late news of its own edits moves nobody")
			eventuallyReady(ctx, m.channel)
		})

		It("goes back when it is lost on the wire: what comes next shows it", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()})
			m := newManaged(ctx)
			discord.Gateway().SetFaults(discordtest.GatewayFaults{LoseOnWire: func(event string) bool { return event == "CHANNEL_UPDATE" }})
			repaired(ctx, m.live, func() {
				m.editByHand(channelChanges["slowmode"])()
				discord.Gateway().SetFaults(discordtest.GatewayFaults{})
				discord.AddRole(m.guild, "Student", 0)
			})
			eventuallyReady(ctx, m.channel)
		})

		It("goes back in one call when it is much", func(ctx context.Context) {
			m := newManaged(ctx)
			before := len(m.edits())
			repaired(ctx, m.live, m.editByHand(func(c *discordtest.Channel) {
				c.Name, c.Topic, c.NSFW, c.RateLimitPerUser, c.ParentID, c.Overwrites = "x", "y", true, 5, "", nil
			}))
			Expect(m.edits()[before:]).To(Equal([]string{"PATCH /channels/{channel_id}"}))
		})

		It("goes back within a second, as a rule", func(ctx context.Context) {
			m := newManaged(ctx)
			var took []time.Duration
			for range 5 { // Discord allows five edits of a channel in 15 s
				took = append(took, repaired(ctx, m.live, m.editByHand(channelChanges["slowmode"])))
			}
			slices.Sort(took)
			AddReportEntry("repaired after", fmt.Sprint(took))
			Expect(took[len(took)/2]).To(BeNumerically("<", time.Second))
		})

		It("goes back: the order of channels", func(ctx context.Context) {
			m := newManaged(ctx)
			before, counted := len(m.edits()), driftCount(ctx, "DiscordChannel", "position")
			repaired(ctx, m.order, m.editByHand(func(c *discordtest.Channel) { c.Position = 9 }))
			Expect(m.edits()[before:]).To(Equal([]string{"PATCH /guilds/{guild_id}/channels"}))
			Expect(driftCount(ctx, "DiscordChannel", "position")).To(BeNumerically(">", counted))
		})

		It("goes back: the name and the overwrites of a category", func(ctx context.Context) {
			m := newManaged(ctx)
			category := func() discordtest.Channel {
				ch, _ := discord.Channel(m.group.Status.GroupID)
				return ch
			}
			counted := driftCount(ctx, "DiscordGroup", "name")
			repaired(ctx, category, func() {
				discord.EditChannelByHand(m.group.Status.GroupID, func(c *discordtest.Channel) { c.Name, c.Overwrites = "Renamed", nil })
			})
			Expect(driftCount(ctx, "DiscordGroup", "name")).To(Equal(counted + 1))
			Eventually(ctx, eventsOf(m.group)).Should(ContainElement("Normal DriftCorrected"))
		})

		It("goes back: the settings of a server", func(ctx context.Context) {
			m := newManaged(ctx)
			settings := func() []any {
				g := discord.Guild(m.guild)
				return []any{g.Name, g.Description, g.VerificationLevel, g.AFKTimeout}
			}
			counted := driftCount(ctx, "DiscordServer", "verificationLevel")
			before := len(m.edits())
			repaired(ctx, settings, func() {
				discord.EditGuildByHand(m.guild, func(g *discordtest.Guild) {
					g.Name, g.Description, g.VerificationLevel, g.AFKTimeout = "Kyoto", "", 0, 300
				})
			})
			Expect(m.edits()[before:]).To(Equal([]string{"PATCH /guilds/{guild_id}"}))
			Expect(driftCount(ctx, "DiscordServer", "verificationLevel")).To(Equal(counted + 1))
			Eventually(ctx, eventsOf(m.server)).Should(ContainElement("Normal DriftCorrected"))
		})

		It("stays where the spec says nothing about it", func(ctx context.Context) {
			m := newManaged(ctx)
			discord.EditChannelByHand(m.below.Status.ChannelID, func(c *discordtest.Channel) {
				c.Topic, c.NSFW, c.RateLimitPerUser, c.Overwrites = "mine", true, 10, nil
			})
			discord.EditGuildByHand(m.guild, func(g *discordtest.Guild) { g.ExplicitContentFilter, g.DefaultNotifications = 2, 1 })
			before := len(m.edits())
			m.expectRest(ctx)
			Expect(m.edits()[before:]).To(BeEmpty())
			live, _ := discord.Channel(m.below.Status.ChannelID)
			Expect(live).To(And(HaveField("Topic", "mine"), HaveField("NSFW", true), HaveField("RateLimitPerUser", 10)))
		})

		It("is made again: a channel, with its webhook", func(ctx context.Context) {
			m := newManaged(ctx)
			before, counted := m.live(), driftCount(ctx, "DiscordChannel", "existence")
			secret := webhookSecret(ctx, m.channel)
			discord.DeleteChannelByHand(before.ID)
			Eventually(ctx, refetch(m.channel)).ShouldNot(HaveField("Status.ChannelID", before.ID))
			eventuallyReady(ctx, m.channel)

			after := m.live()
			Expect(after.ID).NotTo(Equal(before.ID))
			before.ID, before.Position = after.ID, after.Position
			Expect(after).To(Equal(before))
			Expect(discord.Guild(m.guild).Channels).To(HaveLen(3))
			Expect(discord.Guild(m.guild).Webhooks).To(ConsistOf(HaveField("ChannelID", after.ID)))
			Expect(webhookSecret(ctx, m.channel)).NotTo(Equal(secret))
			Expect(driftCount(ctx, "DiscordChannel", "existence")).To(Equal(counted + 1))
		})

		It("is made again: a category, and its channels are back in it", func(ctx context.Context) {
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

		It("is made again: a webhook, and its Secret has the new address", func(ctx context.Context) {
			m := newManaged(ctx)
			secret := webhookSecret(ctx, m.channel)
			discord.DeleteWebhookByHand(m.channel.Status.Webhook.ID)
			Eventually(ctx, func() []discordtest.Webhook { return discord.Guild(m.guild).Webhooks }).Should(HaveLen(1))
			Eventually(ctx, func() string { return webhookSecret(ctx, m.channel) }).ShouldNot(Equal(secret))
			eventuallyReady(ctx, m.channel)
		})
	})

	It("goes back also in a status, and at once", func(ctx context.Context) {
		m := newManaged(ctx)
		m.expectRest(ctx)
		calls := len(m.calls())
		for _, o := range []client.Object{m.server, m.group, m.channel} {
			before := refetch(o)
			Expect(k8s.Status().Patch(ctx, o, mergePatch("status", `{observedGeneration: 0, conditions: []}`))).To(Succeed())
			Eventually(ctx, before).Should(HaveCondition("Ready", "True", "Reconciled"), "%T", o)
		}
		Expect(m.calls()[calls:]).To(BeEmpty(), "Discord has nothing to do with it")
	})

	Describe("while the Gateway is down", func() {
		It("goes back at the next resync, which costs four calls at most however many channels there are", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()}, "--resync-period=1s")
			m := newManaged(ctx)
			for i := range 10 {
				ready(ctx, m.world.channel("alarms", fmt.Sprintf("more-%d", i)))
			}
			discord.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
			discord.Gateway().Drop(0)
			repaired(ctx, m.live, m.editByHand(channelChanges["slowmode"]))
			repaired(ctx, m.live, m.editByHand(channelChanges["permissionOverwrites"]))

			const periods = 5
			edits, calls := m.edits(), m.calls()
			Consistently(ctx, func() []string { return since(edits, m.edits()) }).WithTimeout(periods * time.Second).Should(BeEmpty())
			polled := map[string]int{}
			for _, route := range since(calls, m.calls()) {
				polled[route]++
			}
			delete(polled, "GET /gateway/bot") // looking for the Gateway
			Expect(polled).To(HaveLen(4), "the guild, its channels, its webhooks, and what the bot may do")
			Expect(polled).To(HaveEach(And(BeNumerically(">=", 1), BeNumerically("<=", periods+2))), "%v", polled)

			discord.Gateway().SetFaults(discordtest.GatewayFaults{})
			Eventually(ctx, func() int { return discord.Gateway().Stats().Open }).Should(BeNumerically(">", 0))
			repaired(ctx, m.live, m.editByHand(channelChanges["nsfw"]))
		})

		It("goes back when the Gateway is there again, which has told nothing of it", func(ctx context.Context) {
			anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()})
			m := newManaged(ctx)
			discord.Gateway().SetFaults(discordtest.GatewayFaults{Miss: func(event string) bool { return event == "CHANNEL_UPDATE" || event == "CHANNEL_DELETE" }})
			gone := m.below.Status.ChannelID
			discord.DeleteChannelByHand(gone)
			repaired(ctx, m.live, func() {
				m.editByHand(channelChanges["slowmode"])()
				discord.Gateway().SetFaults(discordtest.GatewayFaults{})
				discord.Gateway().Drop(0)
			})
			Eventually(ctx, refetch(m.below)).ShouldNot(HaveField("Status.ChannelID", gone))
			eventuallyReady(ctx, m.below)
		})
	})
})
