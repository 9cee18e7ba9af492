package specs_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/discordtest"
)

var _ = Describe("Deleting", func() {
	DescribeTable("a channel and a group, the policy says what becomes of them", func(ctx context.Context, adopted bool, policy v1alpha1.DeletionPolicy, stays bool) {
		w := newWorld(ctx)
		c, g := w.channel("", "alerts", withWebhook), w.group("alarms")
		if adopted {
			adopting(discord.CreateChannelByHand(w.guild, discordtest.Channel{Name: "alerts"}))(c)
			groupAdopting(discord.CreateChannelByHand(w.guild, discordtest.Channel{Type: discordtest.TypeCategory, Name: "alarms"}))(g)
		}
		c.Spec.DeletionPolicy, g.Spec.DeletionPolicy = policy, policy
		ready(ctx, w.server(), c, g)
		w.expectRest(ctx)
		before := len(w.edits())
		for _, o := range []client.Object{c, g} {
			Expect(k8s.Delete(ctx, o)).To(Succeed())
			eventuallyGone(ctx, o)
		}
		_, there := discord.Channel(c.Status.ChannelID)
		_, groupThere := discord.Channel(g.Status.GroupID)
		Expect([]bool{there, groupThere}).To(Equal([]bool{stays, stays}), "whether channel and group are on Discord")
		switch {
		case !stays:
			Expect(w.edits()[before:]).To(ConsistOf(deleteChannel, deleteChannel))
		case policy == "": // its Secret goes with the object, so nobody would know the webhook's URL any more
			Expect(w.edits()[before:]).To(ConsistOf(deleteWebhook))
		default:
			Expect(w.edits()[before:]).To(BeEmpty())
		}
	},
		Entry("created: gone", false, v1alpha1.DeletionPolicy(""), false),
		Entry("created, Delete: gone", false, v1alpha1.DeletionPolicyDelete, false),
		Entry("created, Retain: stays", false, v1alpha1.DeletionPolicyRetain, true),
		Entry("adopted: stays, without the webhook", true, v1alpha1.DeletionPolicy(""), true),
		Entry("adopted, Delete: gone", true, v1alpha1.DeletionPolicyDelete, false),
		Entry("adopted, Retain: stays", true, v1alpha1.DeletionPolicyRetain, true),
	)

	It("an object whose adopted counterpart was deleted by somebody and then made again deletes it", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", adopting(discord.CreateChannelByHand(w.guild, discordtest.Channel{Name: "alerts"})))
		g := w.group("alarms", groupAdopting(discord.CreateChannelByHand(w.guild, discordtest.Channel{Type: discordtest.TypeCategory, Name: "alarms"})))
		ready(ctx, w.server(), c, g)
		discord.DeleteChannelByHand(c.Status.ChannelID)
		discord.DeleteChannelByHand(g.Status.GroupID)
		Eventually(ctx, refetch(c)).Should(HaveField("Status.ChannelID", Not(Equal(c.Spec.Adopt.ID))))
		Eventually(ctx, refetch(g)).Should(HaveField("Status.GroupID", Not(Equal(g.Spec.Adopt.ID))))
		for _, o := range []client.Object{c, g} {
			Expect(k8s.Delete(ctx, o)).To(Succeed())
			eventuallyGone(ctx, o)
		}
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("a channel that never came to be needs no call and no finalizer", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("nowhere", "alerts")
		create(ctx, c)
		eventuallyProgressing(ctx, c, "WaitingForGroup")
		Expect(c.Finalizers).To(BeEmpty())
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		eventuallyGone(ctx, c)
		Expect(w.calls()).To(BeEmpty())
	})

	It("what somebody deletes on Discord at the same moment succeeds", func(ctx context.Context) {
		w := newWorld(ctx)
		c, g := w.channel("", "alerts"), w.group("alarms")
		ready(ctx, w.server(), c, g)
		w.fault(discordtest.Fault{Route: deleteChannel, Action: discordtest.Action{Effect: true, Status: 404, Body: `{"code": 10003, "message": "Unknown Channel"}`}})
		for _, o := range []client.Object{c, g} {
			Expect(k8s.Delete(ctx, o)).To(Succeed())
			eventuallyGone(ctx, o)
		}
	})

	It("what was deleted on Discord while no operator ran needs no call", func(ctx context.Context) {
		w := newWorld(ctx)
		c, g := w.channel("", "alerts"), w.group("alarms")
		ready(ctx, w.server(), c, g)
		operator.Stop()
		before := len(w.edits())
		discord.DeleteChannelByHand(c.Status.ChannelID)
		discord.DeleteChannelByHand(g.Status.GroupID)
		stranger := discord.CreateChannelByHand(w.guild, discordtest.Channel{Name: "alerts"})
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		Expect(k8s.Delete(ctx, g)).To(Succeed())
		operator.Start(ctx)
		eventuallyGone(ctx, c)
		eventuallyGone(ctx, g)
		Expect(w.edits()[before:]).To(BeEmpty())
		Expect(w.named("alerts")).To(ConsistOf(stranger), "what somebody else has made under the same name stays")
	})

	It("what Discord fails to delete is tried again, and happens once", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		w.fault(discordtest.Fault{Route: deleteChannel, Times: 1, Action: discordtest.FailBefore(500)})
		w.fault(discordtest.Fault{Route: deleteChannel, Times: 1, Action: discordtest.DropAfter()})
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		eventuallyGone(ctx, c)
		Expect(w.named("alerts")).To(BeEmpty())
		Expect(w.deeds(channelDeleted)).To(Equal(1))
	})

	It("a group waits for its channels and names them, until they are gone or elsewhere", func(ctx context.Context) {
		w := newWorld(ctx)
		g, a, b := w.group("alarms"), w.channel("alarms", "a"), w.channel("alarms", "b")
		ready(ctx, w.server(), g, a, b, w.group("other"))
		Expect(k8s.Delete(ctx, g)).To(Succeed())
		Expect(eventuallyProgressing(ctx, g, "WaitingForDependents")).To(ContainSubstring(": a, b."))
		Expect(category(g).Name).To(Equal("alarms"))
		Expect(k8s.Delete(ctx, a)).To(Succeed())
		eventuallyGone(ctx, a)
		Eventually(ctx, func(ctx context.Context) (string, error) {
			_, err := refetch(g)(ctx)
			return message(g, "Progressing"), err
		}).Should(ContainSubstring(": b."))
		edit(ctx, b, with(func(s *channelSpec) { s.GroupRef.Name = "other" }))
		eventuallyGone(ctx, g)
		Expect(w.named("alarms")).To(BeEmpty())
		eventuallyReady(ctx, b)
	})

	It("a channel and its group at once takes both", func(ctx context.Context) {
		w := newWorld(ctx)
		g, c := w.group("alarms"), w.channel("alarms", "alerts")
		ready(ctx, w.server(), g, c)
		Expect(k8s.Delete(ctx, g)).To(Succeed())
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		eventuallyGone(ctx, c)
		eventuallyGone(ctx, g)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("of everything at once, the token first, as with a namespace, leaves nothing on Discord", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g, c := w.server(), w.group("alarms"), w.channel("alarms", "tokyo")
		ready(ctx, s, g, c)
		Expect(k8s.Delete(ctx, w.token())).To(Succeed())
		eventuallyDegraded(ctx, s, "TokenNotFound")
		for _, o := range []client.Object{s, g, c} {
			Expect(k8s.Delete(ctx, o)).To(Succeed())
		}
		for _, o := range []client.Object{c, g, s} {
			eventuallyGone(ctx, o)
		}
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})

	It("while Discord fails for good, goes by force", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts")
		ready(ctx, w.server(), c)
		stop := discord.Faults().Add(discordtest.Fault{
			Match:  func(r discordtest.Request) bool { return r.BotID == w.bot.UserID && r.Method == http.MethodDelete },
			Action: discordtest.FailBefore(http.StatusInternalServerError),
		})
		defer stop()
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		eventuallyProgressing(ctx, c, "Retrying")
		forceDelete(ctx, c)
		eventuallyGone(ctx, c)
		Expect(w.named("alerts")).To(HaveLen(1), "it is left on Discord")
	})

	DescribeTable("without the bot's token says what to do", func(ctx context.Context, mend func(context.Context, *world, *v1alpha1.DiscordChannel), stays bool) {
		w := newWorld(ctx)
		s, c := w.server(), w.channel("", "alerts")
		ready(ctx, s, c)
		Expect(k8s.Delete(ctx, w.token())).To(Succeed())
		eventuallyDegraded(ctx, s, "TokenNotFound")
		operator.Restart(ctx) // until then it has the token in memory
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		Expect(eventuallyDegraded(ctx, c, "DeletionFailed")).To(And(ContainSubstring("discord-bot"), ContainSubstring(v1alpha1.ForceDeleteAnnotation+"=true")))
		edits := w.edits()
		mend(ctx, w, c)
		eventuallyGone(ctx, c)
		if stays {
			Expect(w.named("alerts")).To(HaveLen(1))
			Expect(w.edits()).To(Equal(edits))
			Eventually(ctx, eventsOf(c)).Should(ContainElement("Warning Abandoned"))
		} else {
			Expect(w.named("alerts")).To(BeEmpty())
		}
	},
		Entry("and leaves the channel there when the annotation allows it, with a warning", func(ctx context.Context, _ *world, c *v1alpha1.DiscordChannel) {
			edit(ctx, c, func(c *v1alpha1.DiscordChannel) {
				c.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"}
			})
		}, true),
		Entry("and goes on when the token is back", func(ctx context.Context, w *world, _ *v1alpha1.DiscordChannel) {
			Expect(k8s.Create(ctx, w.token())).To(Succeed())
		}, false),
	)

	It("with the annotation, but with a token, deletes on Discord all the same", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "alerts", func(c *v1alpha1.DiscordChannel) {
			c.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"}
		})
		ready(ctx, w.server(), c)
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		eventuallyGone(ctx, c)
		Expect(w.named("alerts")).To(BeEmpty())
	})

	It("what Discord refuses to delete says so", func(ctx context.Context) {
		w := newWorld(ctx)
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"COMMUNITY"} })
		c := w.channel("", "rules")
		ready(ctx, w.server(), c)
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.RulesChannelID = c.Status.ChannelID })
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		Expect(eventuallyDegraded(ctx, c, "DeletionFailed")).To(ContainSubstring("delete channel"))
		Expect(on(c).Name).To(Equal("rules"))
	})
})
