// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

const (
	getWebhook = "GET /webhooks/{webhook_id}"
	// latest is longer than the operator's pause before it reads a missing webhook again.
	latest = "7s"
)

// listed makes Discord answer the next requests for webhooks with the list all. times is the number
// of these requests per route; 0 means no limit.
func (w *world) listed(times int, all ...discordtest.Webhook) {
	GinkgoHelper()
	list := []map[string]any{}
	for _, h := range all {
		list = append(list, map[string]any{"id": h.ID, "type": 1, "guild_id": h.GuildID, "channel_id": h.ChannelID,
			"name": h.Name, "application_id": h.ApplicationID, "token": h.Token})
	}
	body, err := json.Marshal(list)
	Expect(err).NotTo(HaveOccurred())
	for _, route := range []string{"GET /channels/{channel_id}/webhooks", "GET /guilds/{guild_id}/webhooks"} {
		w.fault(discordtest.Fault{Route: route, Times: times, Action: discordtest.Action{Status: 200, Body: string(body)}})
	}
}

func (w *world) unknownWebhook(times int) {
	w.fault(discordtest.Fault{Route: getWebhook, Times: times,
		Action: discordtest.Action{Status: http.StatusNotFound, Body: `{"code": 10015, "message": "Unknown Webhook"}`}})
}

// hookOfBot creates a webhook, as another program with the token of the operator's bot would do.
func (w *world) hookOfBot(ctx context.Context, c *v1alpha1.DiscordChannel, name, reason string) string {
	GinkgoHelper()
	api, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret(w.bot.Token), APIURL: discord.APIURL(),
	})
	Expect(err).NotTo(HaveOccurred())
	made, err := api.CreateWebhook(ctx, c.Status.ChannelID, name, reason)
	Expect(err).NotTo(HaveOccurred())
	return made.ID
}

func reasonOf(c *v1alpha1.DiscordChannel) string {
	return fmt.Sprintf("DiscordChannel %s %s/%s", c.UID, c.Namespace, c.Name)
}

func idsOf(c *v1alpha1.DiscordChannel) func() []string {
	return func() (ids []string) {
		for _, hook := range hooks(c) {
			ids = append(ids, hook.ID)
		}
		return ids
	}
}

// loseStatus removes the webhook from the status, like a restore of the cluster from a backup.
func loseStatus(ctx context.Context, c *v1alpha1.DiscordChannel) {
	GinkgoHelper()
	before := c.DeepCopy()
	c.Status.Webhook = nil
	Expect(k8s.Status().Patch(ctx, c, client.MergeFrom(before))).To(Succeed())
}

var _ = Describe("The only webhook of a DiscordChannel", func() {
	var (
		w *world
		c *v1alpha1.DiscordChannel
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		c = w.channel("", "alerts", withWebhook)
		ready(ctx, w.server())
		ready(ctx, c)
		w.expectIdle(ctx)
	})
	// touch causes an event, after which the operator lists the channel's webhooks again.
	touch := func() { discord.CreateWebhookByHand(c.Status.ChannelID, "another") }

	It("is not created again while Discord's lists of webhooks lack it", func(ctx context.Context) {
		old := hooks(c)[0]
		w.listed(0)
		touch()
		Consistently(func() int { return len(w.bodies(postWebhook)) }, latest).Should(Equal(1))
		discord.Faults().Clear()
		edit(ctx, c, slowmode(5))
		eventuallyReady(ctx, c)
		Expect(idsOf(c)()).To(ContainElement(old.ID))
		w.expectInSync(ctx, c)
	})

	It("is not created again when Discord's lists lack it and one read reports it as unknown", func(ctx context.Context) {
		old := hooks(c)[0]
		w.unknownWebhook(1)
		w.listed(0)
		touch()
		asked := func() int {
			return len(slices.DeleteFunc(w.calls(), func(route string) bool { return route != getWebhook }))
		}
		Eventually(asked).Should(Equal(3), "one 404, then two reads that find the webhook")
		w.expectIdle(ctx)
		Expect(w.bodies(postWebhook)).To(HaveLen(1))
		Expect(idsOf(c)()).To(ContainElement(old.ID))
		w.expectInSync(ctx, c)
	})

	It("is created again after a user deletes it, although Discord's list still has it", func(ctx context.Context) {
		old := hooks(c)[0]
		w.listed(1, old)
		discord.DeleteWebhookByHand(old.ID)
		Eventually(idsOf(c)).Should(ConsistOf(Not(Equal(old.ID))))
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(holdURLOf(hooks(c)[0]))
		w.expectInSync(ctx, c)
	})

	It("is recovered after a crash of the operator during the create, "+
		"although its name in the spec has changed", func(ctx context.Context) {
		late := w.channel("", "late")
		ready(ctx, late)
		release := w.holdAnswer(postWebhook)
		edit(ctx, late, withWebhook)
		Eventually(idsOf(late)).Should(HaveLen(1))
		made := hooks(late)[0].ID
		operator.Kill(ctx)
		release()
		edit(ctx, late, with(func(s *channelSpec) { s.Webhook.Name = "Prometheus" }))
		operator.Start(ctx)
		eventuallyReady(ctx, late)
		Expect(hooks(late)).To(ConsistOf(And(HaveField("ID", made), HaveField("Name", "Prometheus"))))
		Expect(w.secretOf("late-webhook")(ctx)).To(holdURLOf(hooks(late)[0]))
	})

	It("is not created again "+
		"if the operator crashes during the create, although Discord's lists lack the webhook", func(ctx context.Context) {
		late := w.channel("", "late")
		ready(ctx, late)
		release := w.holdAnswer(postWebhook)
		edit(ctx, late, withWebhook)
		Eventually(idsOf(late)).Should(HaveLen(1))
		w.listed(0)
		restartAfterCrash(ctx, release)
		eventuallyReady(ctx, late)
		Expect(hooks(late)).To(HaveLen(1))
		Expect(w.secretOf("late-webhook")(ctx)).To(holdURLOf(hooks(late)[0]))
	})

	DescribeTable("is recovered after the response to its create is lost and the operator restarts, "+
		"whatever the audit log shows",
		func(ctx context.Context, change func()) {
			late := w.channel("", "late")
			ready(ctx, late)
			change()
			release := w.holdAnswer(postWebhook)
			edit(ctx, late, withWebhook)
			Eventually(idsOf(late)).Should(HaveLen(1))
			restartAfterCrash(ctx, release)
			eventuallyReady(ctx, late)
			Expect(hooks(late)).To(HaveLen(1))
			Expect(w.secretOf("late-webhook")(ctx)).To(holdURLOf(hooks(late)[0]))
			w.expectInSync(ctx, late)
		},
		Entry("the entry of the create", func() {}),
		Entry("no entry of the create", func() {
			discord.Faults().LoseAudit(-1)
			DeferCleanup(func() { discord.Faults().LoseAudit(0) })
		}),
		Entry("nothing, because the bot may not view the audit log", func() {
			discord.SetPermissions(w.guild, w.bot.UserID, everything&^discordtest.PermViewAuditLog)
		}),
		Entry("nothing at first, because Discord refuses one read of the audit log", func() {
			w.fault(discordtest.Fault{Route: "GET /guilds/{guild_id}/audit-logs", Times: 1,
				Action: discordtest.Action{Status: http.StatusForbidden, Body: `{"code": 50001, "message": "Missing Access"}`}})
		}),
	)

	It("stays, and the operator deletes a second webhook "+
		"that it created for the DiscordChannel", func(ctx context.Context) {
		old := hooks(c)[0]
		second := w.hookOfBot(ctx, c, "alertmanager", reasonOf(c))
		foreign := w.hookOfBot(ctx, c, "alertmanager", "of another program")
		operator.Restart(ctx)
		Eventually(idsOf(c)).ShouldNot(ContainElement(second))
		Expect(idsOf(c)()).To(ConsistOf(old.ID, foreign))
		Expect(w.secretOf("alerts-webhook")(ctx)).To(holdURLOf(old))
		w.expectInSync(ctx, c)
	})

	It("is not a webhook that another program created with the same bot", func(ctx context.Context) {
		late := w.channel("", "late")
		ready(ctx, late)
		foreign := w.hookOfBot(ctx, late, "alertmanager", "of another program")
		edit(ctx, late, withWebhook)
		eventuallyReady(ctx, late)
		Expect(idsOf(late)()).To(ConsistOf(foreign, late.Status.Webhook.ID))
		Expect(late.Status.Webhook.ID).NotTo(Equal(foreign))
	})

	It("is found by the id in its Secret if neither the status nor the audit log has the id", func(ctx context.Context) {
		discord.Faults().LoseAudit(-1)
		DeferCleanup(func() { discord.Faults().LoseAudit(0) })
		late := w.channel("", "late", withWebhook)
		ready(ctx, late)
		made := late.Status.Webhook.ID
		operator.Stop()
		loseStatus(ctx, late)
		edit(ctx, late, with(func(s *channelSpec) { s.Webhook.Name = "Prometheus" }))
		operator.Start(ctx)
		eventuallyReady(ctx, late)
		Expect(idsOf(late)()).To(ConsistOf(made))
	})

	It("is not the webhook of another channel, "+
		"even if a user writes that webhook's id into the Secret", func(ctx context.Context) {
		other := w.channel("", "other", withWebhook)
		ready(ctx, other)
		foreign := hooks(other)[0]
		operator.Stop()
		loseStatus(ctx, c)
		discord.DeleteWebhookByHand(hooks(c)[0].ID)
		secret, err := w.secretOf("alerts-webhook")(ctx)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, secret, func(s *corev1.Secret) { s.Annotations["discord.jutsu.com/webhook-id"] = foreign.ID })
		operator.Start(ctx)
		Eventually(idsOf(c)).Should(HaveLen(1))
		eventuallyReady(ctx, c)
		Expect(hooks(other)).To(ConsistOf(foreign))
		Eventually(ctx, w.secretOf("alerts-webhook")).Should(holdURLOf(hooks(c)[0]))
	})
})

var _ = Describe("A webhook that another program created with the same bot", func() {
	It("is not used by the operator, "+
		"even if Discord's clock is behind and the audit log is late", func(ctx context.Context) {
		const behind = 5 * time.Second // less than the tolerated clock skew: four times recoveryWait
		anotherDiscord(ctx, discordtest.Options{
			Limits: limits(), Clock: time.Now().Add(-behind), AuditDelay: 1500 * time.Millisecond,
		})
		w := newWorld(ctx)
		late := w.channel("", "late")
		ready(ctx, w.server(), late)
		foreign := w.hookOfBot(ctx, late, "alertmanager", "of another program")
		edit(ctx, late, withWebhook)
		eventuallyReady(ctx, late)
		Expect(idsOf(late)()).To(ConsistOf(foreign, late.Status.Webhook.ID))
		Expect(late.Status.Webhook.ID).NotTo(Equal(foreign))
	})
})
