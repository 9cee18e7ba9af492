// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/bwmarrin/discordgo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/libs/discordclient"
)

// history is a channel with changes of the spec, deletions by users, lost responses and restarts.
type history struct {
	guild   *bot.Guild
	channel *v1alpha1.DiscordChannel
	hooks   []discordclient.Webhook // the channel's webhooks on Discord
	secrets map[string]*metav1.PartialObjectMetadata
	ids     int

	logged bool

	// A restart loses record and complete. complete means that lists show every create.
	record   lifecycle.Record
	complete bool

	// reported has the webhooks that a status has named. forsaken has the webhooks that the spec
	// dropped before a status named them.
	reported, forsaken map[string]bool
	// twice is the name of a webhook that the operator created twice.
	twice string
}

const ownApplication = "app"

func foreign() []discordclient.Webhook {
	return []discordclient.Webhook{
		{ID: "1", Type: discordgo.WebhookTypeIncoming, Name: "alerts"},
		{ID: "2", Type: discordgo.WebhookTypeIncoming, Name: "another program's", ApplicationID: ownApplication, Token: discordclient.NewSecret("t2")},
	}
}

func (h *history) observe() State {
	s := observed(h.guild, &discordclient.Channel{Name: "alerts"})
	s.Hooks, s.Record, s.Complete = slices.Clone(h.hooks), h.record, h.record.Known || h.complete
	if s.Ours = map[string]bool{}; h.logged && h.complete {
		for _, hook := range h.hooks[2:] {
			s.Ours[hook.ID] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.secrets)) {
		s.Secrets = append(s.Secrets, *h.secrets[name])
		if name == h.channel.WebhookSecretName() {
			s.Secret = h.secrets[name]
		}
	}
	return s
}

// reconcile runs the first steps of a plan; most limits their number. If lost is set, the response
// to a create does not arrive.
func (h *history) reconcile(most int, lost bool) (unchanged bool) {
	todo := NewPlan(h.channel, h.observe())
	if todo.Err != nil {
		return false
	}
	now, unchanged := Results{}, !todo.Create && !todo.Rename && !todo.Write && todo.Remove == "" && len(todo.Obsolete)+len(todo.Duplicates) == 0
	var steps []func() (goOn bool)
	if todo.Remove != "" {
		steps = append(steps, func() bool { h.drop(todo.Remove); return true })
	}
	if h.channel.Spec.Webhook != nil {
		steps = append(steps, func() bool { return h.provide(todo, &now, lost) })
		if todo.Write {
			steps = append(steps, func() bool { h.write(now.Hook.ID); return true })
		}
		steps = append(steps, func() bool { now.Secret = h.channel.WebhookSecretName(); return true })
	}
	for _, id := range todo.Duplicates {
		steps = append(steps, func() bool { h.drop(id); return true })
	}
	for _, secret := range todo.Obsolete {
		steps = append(steps, func() bool { delete(h.secrets, secret.Name); return true })
	}
	for i, step := range steps {
		if i >= most || !step() {
			if i < most {
				h.report(now)
			}
			return false
		}
	}
	if most >= len(steps) {
		now.Dropped = h.channel.Spec.Webhook == nil
		h.report(now)
	}
	return unchanged
}

func (h *history) provide(todo Plan, now *Results, lost bool) bool {
	hook := todo.Use
	switch {
	case todo.Create:
		h.record = lifecycle.Record{Known: true}
		if slices.ContainsFunc(h.hooks[2:], func(w discordclient.Webhook) bool { return w.Name == h.channel.Spec.Webhook.Name }) {
			h.twice = h.channel.Spec.Webhook.Name
		}
		h.ids++
		id := strconv.Itoa(100 + h.ids)
		made := discordclient.Webhook{ID: id, Type: discordgo.WebhookTypeIncoming, Name: h.channel.Spec.Webhook.Name, ApplicationID: ownApplication,
			Token: discordclient.NewSecret("t" + id)}
		h.hooks = append(h.hooks, made)
		if lost {
			h.record, h.complete = lifecycle.Record{}, false
			return false
		}
		hook = &made
	case todo.Rename:
		i := slices.IndexFunc(h.hooks, func(w discordclient.Webhook) bool { return w.ID == hook.ID })
		h.hooks[i].Name = h.channel.Spec.Webhook.Name
	}
	h.record, now.Hook = lifecycle.Record{Known: true, ID: hook.ID}, hook
	return true
}

func (h *history) write(hookID string) {
	name := h.channel.WebhookSecretName()
	h.secrets[name] = secretMeta(name, hookID)
}

func (h *history) report(now Results) {
	h.channel.Status.Webhook = Status(h.channel, now)
	h.reported[statusID(h.channel)] = true
}

func (h *history) drop(id string) {
	h.hooks = slices.DeleteFunc(h.hooks, func(w discordclient.Webhook) bool { return w.ID == id })
}

func (h *history) Spec(t *rapid.T) {
	h.channel.Spec.Webhook = rapid.SampledFrom([]*v1alpha1.ChannelWebhook{
		nil, {Name: "alerts"}, {Name: "reports"}, {Name: "alerts", SecretName: "elsewhere"},
	}).Draw(t, "spec")
	for _, w := range h.hooks[2:] {
		if asked := h.channel.Spec.Webhook; !h.reported[w.ID] && w.ID != h.record.ID && (asked == nil || asked.Name != w.Name) {
			h.forsaken[w.ID] = true
		}
	}
}

func (h *history) Reconcile(*rapid.T) { h.reconcile(9, false) }

func (h *history) Lose(*rapid.T) { h.reconcile(9, true) }

func (h *history) Kill(t *rapid.T) {
	h.reconcile(rapid.IntRange(0, 3).Draw(t, "steps"), rapid.Bool().Draw(t, "lost"))
	h.record, h.complete = lifecycle.Record{}, false
}

func (h *history) Wait(*rapid.T) { h.complete = true }

func (h *history) HandDelete(t *rapid.T) {
	if len(h.hooks) > 2 {
		h.drop(rapid.SampledFrom(h.hooks[2:]).Draw(t, "webhook").ID)
	}
}

func (h *history) BreakSecret(t *rapid.T) {
	for name, secret := range h.secrets {
		if delete(h.secrets, name); rapid.Bool().Draw(t, "changed") {
			h.secrets[name] = changedMeta(secret.DeepCopy(), func(m *metav1.PartialObjectMetadata) { m.ManagedFields[0].Manager = "kubectl" })
		}
		return
	}
}

func (h *history) Check(t *rapid.T) {
	if h.twice != "" {
		t.Fatalf("a second webhook %q was created", h.twice)
	}
	if len(h.hooks) < 2 || h.hooks[0].Name != foreign()[0].Name || h.hooks[1].Name != foreign()[1].Name {
		t.Fatalf("the webhooks of others were touched: %v", h.hooks)
	}
}

// A webhook may remain if its create was interrupted, and the spec dropped the webhook before a
// status named it.
func (h *history) expectReconciled(t *rapid.T) {
	for range 4 {
		h.complete = true
		h.reconcile(9, false)
		h.Check(t)
	}
	if !h.reconcile(9, false) {
		t.Fatal("the webhook is not reconciled after four reconciles")
	}
	asked, want := h.channel.Spec.Webhook, []string{}
	if asked != nil {
		want = []string{h.channel.WebhookSecretName()}
		if secret := h.secrets[want[0]]; secret == nil || !secretInSync(secret, statusID(h.channel)) {
			t.Fatalf("the Secret is not for the webhook %s", statusID(h.channel))
		}
	}
	if got := slices.Sorted(maps.Keys(h.secrets)); !slices.Equal(got, want) {
		t.Fatalf("Secrets %v, want %v", got, want)
	}
	found := false
	for _, w := range h.hooks[2:] {
		mine := asked != nil && w.ID == statusID(h.channel)
		found = found || mine && w.Name == asked.Name
		if !mine && (h.reported[w.ID] || !h.forsaken[w.ID] || asked != nil && h.logged) {
			t.Fatalf("the webhook %s %q is left over", w.ID, w.Name)
		}
	}
	if asked != nil && !found {
		t.Fatalf("there is no webhook %q: %v", asked.Name, h.hooks)
	}
}

// The operator creates no second webhook of the same name, and changes no foreign webhook.
func TestAnyHistoryOfAWebhookEndsWell(t *testing.T) {
	t.Parallel()
	guild := newGuild(t, all)
	rapid.Check(t, func(t *rapid.T) {
		h := &history{
			guild: guild, channel: object(spec{Name: "alerts"}), hooks: foreign(), secrets: map[string]*metav1.PartialObjectMetadata{},
			reported: map[string]bool{}, forsaken: map[string]bool{}, logged: rapid.Bool().Draw(t, "logged"),
		}
		t.Repeat(rapid.StateMachineActions(h))
		h.expectReconciled(t)
	})
}
