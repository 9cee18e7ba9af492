// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

const all = discordtest.PermViewChannel | discordtest.PermManageChannels | discordtest.PermManageRoles | discordtest.PermManageWebhooks

type spec = v1alpha1.DiscordChannelSpec

func newGuild(t *testing.T, p discordtest.Permissions) *bot.Guild {
	t.Helper()
	g := guildtest.New(t, p)
	return &bot.Guild{Server: &v1alpha1.DiscordServer{}, ID: g.ID, Snapshot: g.Snapshot(t)}
}

func observed(guild *bot.Guild, live *discordclient.Channel) State {
	return State{Guild: guild, Channel: live, Complete: true, Application: "app"}
}

func object(s spec) *v1alpha1.DiscordChannel {
	return &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "alerts", UID: "uid"}, Spec: s}
}

func reasonOf(err error) string {
	if issue, ok := errors.AsType[*conditions.Issue](err); ok {
		return issue.Reason
	}
	return ""
}

func secretMeta(name, hookID string) *metav1.PartialObjectMetadata {
	owned := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: secretLabels, Annotations: map[string]string{webhookAnnotation: hookID},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "discord.jutsu.com/v1alpha1", Kind: "DiscordChannel", Name: "alerts", UID: "uid", Controller: ptr.To(true)}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:url":{}}}`)}},
	}}
	return owned
}

func changedMeta(m *metav1.PartialObjectMetadata, change func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	change(m)
	return m
}

func TestPlan(t *testing.T) {
	t.Parallel()
	guild := newGuild(t, all)
	hook := func(id, name, app string) discordclient.Webhook {
		w := discordclient.Webhook{ID: id, Type: discordgo.WebhookTypeIncoming, Name: name, ApplicationID: app}
		if app == "app" {
			w.Token = discordclient.NewSecret("t" + id)
		}
		return w
	}
	many := make([]discordclient.Webhook, maxWebhooks)
	asked, has := &v1alpha1.ChannelWebhook{Name: "alerts"}, &v1alpha1.WebhookStatus{ID: "7"}
	mine := []discordclient.Webhook{hook("5", "alerts", ""), hook("6", "other", "app"), hook("7", "alerts", "app")}
	type step struct {
		Create, Rename, Write, Exists bool
		Use, Remove, Reason           string
		Obsolete, Duplicates          []string
	}
	cases := map[string]struct {
		asked  *v1alpha1.ChannelWebhook
		has    *v1alpha1.WebhookStatus
		change func(*State)
		want   step
	}{
		"no webhook in the spec and the status": {change: func(s *State) { s.Hooks = mine }},
		"a new webhook":                         {asked: asked, want: step{Create: true, Write: true}},
		"a new webhook of a new channel":        {asked: asked, change: func(s *State) { s.Channel = nil }, want: step{Create: true, Write: true}},
		"in sync": {asked: asked, has: has, change: func(s *State) { s.Hooks, s.Secret = mine, secretMeta("alerts-webhook", "7") },
			want: step{Use: "7", Exists: true}},
		"the Secret is missing": {asked: asked, has: has, change: func(s *State) { s.Hooks = mine }, want: step{Use: "7", Write: true}},
		"the Secret is for another webhook": {asked: asked, has: has, change: func(s *State) { s.Hooks, s.Secret = mine, secretMeta("alerts-webhook", "6") },
			want: step{Use: "7", Write: true, Exists: true}},
		"another client has changed the Secret": {asked: asked, has: has, change: func(s *State) {
			s.Hooks = mine
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.ManagedFields[0].Manager = "kubectl" })
		}, want: step{Use: "7", Write: true, Exists: true}},
		"another client has removed the labels": {asked: asked, has: has, change: func(s *State) {
			s.Hooks = mine
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.Labels = nil })
		}, want: step{Use: "7", Write: true, Exists: true}},
		"managedFields cannot be read": {asked: asked, has: has, change: func(s *State) {
			s.Hooks = mine
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`?`) })
		}, want: step{Use: "7", Write: true, Exists: true}},
		"the spec renames the webhook": {asked: &v1alpha1.ChannelWebhook{Name: "new"}, has: has, change: func(s *State) { s.Hooks = mine }, want: step{Use: "7", Rename: true, Write: true}},
		"the webhook is gone":          {asked: asked, has: has, change: func(s *State) { s.Hooks = mine[:2] }, want: step{Create: true, Write: true}},
		"the result of a lost create":  {asked: asked, change: func(s *State) { s.Hooks = mine }, want: step{Use: "7", Write: true}},
		"uses the oldest webhook with the right name": {asked: asked, change: func(s *State) {
			s.Hooks = []discordclient.Webhook{hook("9", "alerts", "app"), hook("8", "alerts", "app")}
		}, want: step{Use: "8", Write: true}},
		"the result of a lost create, not yet in the audit log": {asked: asked, change: func(s *State) { s.Hooks, s.Complete = mine, false },
			want: step{Reason: v1alpha1.ReasonCreatePending}},
		"the audit log proves a webhook with another name": {asked: asked, change: func(s *State) {
			s.Hooks, s.Complete, s.Ours = mine, false, map[string]bool{"6": true}
		}, want: step{Use: "6", Rename: true, Write: true}},
		"the audit log attributes the webhook to another object": {asked: asked, change: func(s *State) { s.Hooks, s.Others = mine, map[string]bool{"7": true} },
			want: step{Create: true, Write: true}},
		"keeps the webhook in the status, deletes a proven duplicate": {asked: asked, has: has, change: func(s *State) {
			s.Hooks, s.Secret, s.Ours = mine, secretMeta("alerts-webhook", "7"), map[string]bool{"5": true, "6": true, "7": true}
		}, want: step{Use: "7", Exists: true, Duplicates: []string{"6"}}},
		"keeps the older of two proven webhooks": {asked: asked, change: func(s *State) {
			s.Hooks, s.Ours = mine, map[string]bool{"6": true, "7": true}
		}, want: step{Use: "6", Rename: true, Write: true, Duplicates: []string{"7"}}},
		"only the Secret names the webhook": {asked: asked, change: func(s *State) { s.Hooks, s.Complete, s.Secret = mine, false, secretMeta("alerts-webhook", "6") },
			want: step{Use: "6", Rename: true, Exists: true}},
		"only the Secret names a webhook that is not the bot's": {asked: asked, change: func(s *State) {
			s.Hooks, s.Secret = slices.Clone(mine[:1]), secretMeta("alerts-webhook", "5")
			s.Hooks[0].Token = discordclient.NewSecret("t5")
		}, want: step{Create: true, Write: true, Exists: true}},
		"only the record names the webhook": {asked: &v1alpha1.ChannelWebhook{Name: "new"}, change: func(s *State) {
			s.Hooks, s.Record = mine, lifecycle.Record{Known: true, ID: "6"}
		}, want: step{Use: "6", Rename: true, Write: true}},
		"the status names a webhook that is not the bot's, the Secret is intact": {asked: asked, has: &v1alpha1.WebhookStatus{ID: "5"}, change: func(s *State) {
			s.Hooks, s.Secret = mine[:1], secretMeta("alerts-webhook", "5")
		}, want: step{Use: "5", Exists: true}},
		"the status names a webhook that is not the bot's, the Secret is missing": {asked: asked, has: &v1alpha1.WebhookStatus{ID: "5"}, change: func(s *State) { s.Hooks = mine[:1] }, want: step{Create: true, Write: true}},
		"the record names a webhook without URL, the Secret is of the former webhook": {asked: asked, has: has, change: func(s *State) {
			s.Hooks, s.Record, s.Secret = mine[:1], lifecycle.Record{Known: true, ID: "5"}, secretMeta("alerts-webhook", "7")
		}, want: step{Create: true, Write: true, Exists: true}},
		"the record names a webhook without URL, the Secret is intact": {asked: asked, change: func(s *State) {
			s.Hooks, s.Record, s.Secret = mine[:1], lifecycle.Record{Known: true, ID: "5"}, secretMeta("alerts-webhook", "5")
		}, want: step{Use: "5", Exists: true}},
		"the list may lack the webhook of a former create": {asked: asked, change: func(s *State) { s.Complete = false }, want: step{Reason: v1alpha1.ReasonCreatePending}},
		"15 webhooks":                   {asked: asked, change: func(s *State) { s.Hooks = many }, want: step{Reason: v1alpha1.ReasonLimitReached}},
		"15 webhooks, one of them ours": {asked: asked, change: func(s *State) { s.Hooks = slices.Concat(many[1:], mine[2:]) }, want: step{Use: "7", Write: true}},
		"another object owns the Secret": {asked: asked, change: func(s *State) {
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.OwnerReferences[0].UID = "other" })
		}, want: step{Reason: v1alpha1.ReasonNameConflict, Exists: true}},
		"Discord cannot be read": {asked: asked, change: func(s *State) { s.Err = conditions.Progressing("Outage", "") }, want: step{Reason: "Outage"}},
		"the spec renames the Secret": {asked: &v1alpha1.ChannelWebhook{Name: "alerts", SecretName: "new"}, has: has, change: func(s *State) {
			s.Hooks, s.Secrets = mine, []metav1.PartialObjectMetadata{*secretMeta("alerts-webhook", "7")}
		}, want: step{Use: "7", Write: true, Obsolete: []string{"alerts-webhook"}}},
		"the spec drops the webhook": {has: has, change: func(s *State) {
			s.Hooks, s.Secrets = mine, []metav1.PartialObjectMetadata{*secretMeta("alerts-webhook", "7")}
		},
			want: step{Remove: "7", Obsolete: []string{"alerts-webhook"}}},
		"the spec drops a deleted webhook": {has: has, change: func(s *State) { s.Hooks = mine[:2] }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(spec{Name: "alerts", Webhook: c.asked})
			o.Status.Webhook = c.has
			state := observed(guild, &discordclient.Channel{Name: "alerts"})
			if c.change != nil {
				c.change(&state)
			}
			got := NewPlan(o, state)
			is := step{Create: got.Create, Rename: got.Rename, Write: got.Write, Exists: got.Live != nil, Remove: got.Remove, Reason: reasonOf(got.Err),
				Duplicates: got.Duplicates}
			if got.Use != nil {
				is.Use = got.Use.ID
			}
			for _, secret := range got.Obsolete {
				is.Obsolete = append(is.Obsolete, secret.Name)
			}
			if diff := cmp.Diff(c.want, is); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The operator keeps a webhook that is older than the object: users may have the webhook's URL.
func TestOlderWebhookStays(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	o := object(spec{Name: "alerts"})
	o.Status.Webhook = &v1alpha1.WebhookStatus{ID: discordclient.SnowflakeAt(made)}
	state := observed(newGuild(t, all), &discordclient.Channel{Name: "alerts"})
	state.Hooks = []discordclient.Webhook{{ID: o.Status.Webhook.ID}}
	for name, c := range map[string]struct {
		object time.Time
		want   string
	}{
		"the webhook is older than the object":       {made.Add(time.Hour), ""},
		"the webhook is newer than the object":       {made.Add(-time.Hour), o.Status.Webhook.ID},
		"the webhook is older within the clock skew": {made.Add(time.Second), o.Status.Webhook.ID},
	} {
		o.CreationTimestamp = metav1.NewTime(c.object)
		if got := NewPlan(o, state); got.Remove != c.want {
			t.Errorf("%s: removes %q, want %q", name, got.Remove, c.want)
		}
	}
}

func TestWebhookNeedsPermission(t *testing.T) {
	t.Parallel()
	guild := newGuild(t, all&^discordtest.PermManageWebhooks)
	for name, live := range map[string]*discordclient.Channel{"a new channel": nil, "an existing channel": {Name: "alerts"}} {
		got := NewPlan(object(spec{Name: "alerts", Webhook: &v1alpha1.ChannelWebhook{Name: "alerts"}}), observed(guild, live))
		if reasonOf(got.Err) != v1alpha1.ReasonMissingPermissions || got.Create {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSecretHasTheURL(t *testing.T) {
	t.Parallel()
	hook := &discordclient.Webhook{ID: "7", URL: discordclient.NewSecret("https://discord.example/7/t")}
	got := secretFor(object(spec{Webhook: &v1alpha1.ChannelWebhook{SecretName: "elsewhere"}}), hook)
	if *got.Name != "elsewhere" || string(got.Data["url"]) != "https://discord.example/7/t" || got.Annotations[webhookAnnotation] != "7" || *got.OwnerReferences[0].UID != "uid" {
		t.Errorf("%+v", got)
	}
}

// After a failed write of the status, the record alone has the webhook.
func TestRemovedWebhookThatTheStatusLacks(t *testing.T) {
	t.Parallel()
	made := discordclient.SnowflakeAt(time.Now())
	c := object(spec{Name: "alerts"})
	c.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	s := observed(newGuild(t, all), &discordclient.Channel{ID: "1"})
	s.Hooks, s.Record = []discordclient.Webhook{{ID: made}}, lifecycle.Record{Known: true, ID: made}
	s.Secrets = []metav1.PartialObjectMetadata{*secretMeta("alerts-webhook", made)}
	if p := NewPlan(c, s); p.Remove != made || len(p.Obsolete) != 1 || !p.Forget {
		t.Errorf("%+v", p)
	}
}
