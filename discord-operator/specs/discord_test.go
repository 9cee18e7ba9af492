// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const (
	postChannel    = "POST /guilds/{guild_id}/channels"
	patchChannel   = "PATCH /channels/{channel_id}"
	moveChannels   = "PATCH /guilds/{guild_id}/channels"
	deleteChannel  = "DELETE /channels/{channel_id}"
	postWebhook    = "POST /channels/{channel_id}/webhooks"
	patchWebhook   = "PATCH /webhooks/{webhook_id}"
	deleteWebhook  = "DELETE /webhooks/{webhook_id}"
	patchGuild     = "PATCH /guilds/{guild_id}"
	channelCreated = 10 // actions of the audit log
	channelDeleted = 12
	webhookCreated = 50
)

func (w *world) bodies(route string) []map[string]any {
	GinkgoHelper()
	var all []map[string]any
	for _, r := range discord.RequestsOf(w.bot.UserID) {
		if r.Route == route {
			body := map[string]any{}
			Expect(json.Unmarshal(r.Body, &body)).To(Succeed())
			all = append(all, body)
		}
	}
	return all
}

func (w *world) writesTo(resource, name string) []string {
	GinkgoHelper()
	return slices.DeleteFunc(operator.Writes(w.ns), func(write string) bool {
		_, target, _ := strings.Cut(write, " ")
		return strings.TrimSuffix(target, "/status") != resource+"/"+name
	})
}

func (w *world) channelByHand(c discordtest.Channel) string {
	return discord.CreateChannelByHand(w.guild, c)
}

func (w *world) categoryByHand(name string) string {
	return w.channelByHand(discordtest.Channel{Type: discordtest.TypeCategory, Name: name})
}

func on(c *v1alpha1.DiscordChannel) discordtest.Channel {
	GinkgoHelper()
	ch, ok := discord.Channel(c.Status.ChannelID)
	Expect(ok).To(BeTrue(), "#%s should be on Discord", c.Spec.Name)
	return ch
}

func category(g *v1alpha1.DiscordGroup) discordtest.Channel {
	GinkgoHelper()
	ch, ok := discord.Channel(g.Status.GroupID)
	Expect(ok).To(BeTrue(), "the category %s should be on Discord", g.Spec.Name)
	return ch
}

func (w *world) idsNamed(name string) []string {
	var ids []string
	for _, c := range discord.Guild(w.guild).Channels {
		if c.Name == name {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// namesIn returns the names in Discord's order. parent is a category's id, "" for channels without
// a category, or "categories" for all categories.
func (w *world) namesIn(parent string) []string {
	var names []string
	for _, c := range discord.Guild(w.guild).Channels {
		isCategory := c.Type == discordtest.TypeCategory
		if parent == "categories" && isCategory || parent == c.ParentID && !isCategory {
			names = append(names, c.Name)
		}
	}
	return names
}

func (w *world) audited(action int) int {
	n := 0
	for _, e := range discord.Guild(w.guild).Audit {
		if e.Action == action {
			n++
		}
	}
	return n
}

func (w *world) fault(f discordtest.Fault) {
	also := f.Match
	f.Match = func(r discordtest.Request) bool { return r.BotID == w.bot.UserID && (also == nil || also(r)) }
	DeferCleanup(discord.Faults().Add(f))
}

// expectInSync expects that one more reconcile causes no call to Discord and no write.
func (w *world) expectInSync(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	// The operator reconciles a DiscordServer two seconds or more after a change of one of its
	// objects. Trigger this reconcile now.
	var servers v1alpha1.DiscordServerList
	Expect(k8s.List(ctx, &servers, client.InNamespace(w.ns))).To(Succeed())
	var all []client.Object
	for i := range servers.Items {
		all = append(all, &servers.Items[i])
	}
	reconcileAgain(ctx, all...)
	w.expectIdle(ctx)
	before := w.traffic()
	reconcileAgain(ctx, objects...)
	w.expectIdle(ctx)
	Expect(w.traffic()).To(ConsistOf(before), "one more reconcile should do nothing")
}

// reconcileAgain touches the objects, and waits for as many reconciles as there are objects.
func reconcileAgain(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	count := reconciles(ctx)
	for _, o := range objects {
		touch := client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"touched-at":"`+time.Now().String()+`"}}}`))
		Expect(k8s.Patch(ctx, o, touch)).To(Succeed())
	}
	Eventually(ctx, func() int { return reconciles(ctx) - count }).WithPolling(200*time.Millisecond).
		Should(BeNumerically(">=", len(objects)), "every object should be reconciled")
}

func allowing(role string, names ...v1alpha1.Permission) v1alpha1.PermissionOverwrite {
	return v1alpha1.PermissionOverwrite{Role: role, Allow: names}
}

func denying(role string, names ...v1alpha1.Permission) v1alpha1.PermissionOverwrite {
	return v1alpha1.PermissionOverwrite{Role: role, Deny: names}
}
