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

// newGuild is a guild whose bot has the permissions.
func newGuild(t *testing.T, p discordtest.Permissions) *bot.Guild {
	t.Helper()
	g := guildtest.New(t, p)
	return &bot.Guild{Server: &v1alpha1.DiscordServer{}, ID: g.ID, Snapshot: g.Snapshot(t)}
}

// observed is the webhook of a channel, nil for one that is to be created.
func observed(guild *bot.Guild, live *discordclient.Channel) State {
	return State{Guild: guild, Channel: live, Complete: true, Application: "app"}
}

func object(s spec) *v1alpha1.DiscordChannel {
	return &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "alerts", UID: "uid"}, Spec: s}
}

// reasonOf is the reason of an issue, empty for none.
func reasonOf(err error) string {
	if issue, ok := errors.AsType[*conditions.Issue](err); ok {
		return issue.Reason
	}
	return ""
}

// secretMeta is the metadata of a Secret that the channel owns, and that we have applied for a
// webhook.
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
		"nothing asked, nothing there":   {change: func(s *State) { s.Hooks = mine }},
		"a new one":                      {asked: asked, want: step{Create: true, Write: true}},
		"for a channel that is new, too": {asked: asked, change: func(s *State) { s.Channel = nil }, want: step{Create: true, Write: true}},
		"it stands": {asked: asked, has: has, change: func(s *State) { s.Hooks, s.Secret = mine, secretMeta("alerts-webhook", "7") },
			want: step{Use: "7", Exists: true}},
		"it stands, and its Secret does not": {asked: asked, has: has, change: func(s *State) { s.Hooks = mine }, want: step{Use: "7", Write: true}},
		"its Secret is for another one": {asked: asked, has: has, change: func(s *State) { s.Hooks, s.Secret = mine, secretMeta("alerts-webhook", "6") },
			want: step{Use: "7", Write: true, Exists: true}},
		"another client has changed the Secret": {asked: asked, has: has, change: func(s *State) {
			s.Hooks = mine
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.ManagedFields[0].Manager = "kubectl" })
		}, want: step{Use: "7", Write: true, Exists: true}},
		"another client has taken the labels off": {asked: asked, has: has, change: func(s *State) {
			s.Hooks = mine
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.Labels = nil })
		}, want: step{Use: "7", Write: true, Exists: true}},
		"who owns what cannot be read": {asked: asked, has: has, change: func(s *State) {
			s.Hooks = mine
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`?`) })
		}, want: step{Use: "7", Write: true, Exists: true}},
		"it has another name":  {asked: &v1alpha1.ChannelWebhook{Name: "new"}, has: has, change: func(s *State) { s.Hooks = mine }, want: step{Use: "7", Rename: true, Write: true}},
		"it is gone":           {asked: asked, has: has, change: func(s *State) { s.Hooks = mine[:2] }, want: step{Create: true, Write: true}},
		"one of a lost create": {asked: asked, change: func(s *State) { s.Hooks = mine }, want: step{Use: "7", Write: true}},
		"the oldest of several": {asked: asked, change: func(s *State) {
			s.Hooks = []discordclient.Webhook{hook("9", "alerts", "app"), hook("8", "alerts", "app")}
		}, want: step{Use: "8", Write: true}},
		"one of a lost create, while the audit log may lack it": {asked: asked, change: func(s *State) { s.Hooks, s.Complete = mine, false },
			want: step{Reason: v1alpha1.ReasonCreatePending}},
		"proven by the audit log, under another name": {asked: asked, change: func(s *State) {
			s.Hooks, s.Complete, s.Ours = mine, false, map[string]bool{"6": true}
		}, want: step{Use: "6", Rename: true, Write: true}},
		"created for something else": {asked: asked, change: func(s *State) { s.Hooks, s.Others = mine, map[string]bool{"7": true} },
			want: step{Create: true, Write: true}},
		"two that are proven: the recorded one stays": {asked: asked, has: has, change: func(s *State) {
			s.Hooks, s.Secret, s.Ours = mine, secretMeta("alerts-webhook", "7"), map[string]bool{"5": true, "6": true, "7": true}
		}, want: step{Use: "7", Exists: true, Duplicates: []string{"6"}}},
		"two that are proven, none recorded: the older one stays": {asked: asked, change: func(s *State) {
			s.Hooks, s.Ours = mine, map[string]bool{"6": true, "7": true}
		}, want: step{Use: "6", Rename: true, Write: true, Duplicates: []string{"7"}}},
		"known by its Secret alone": {asked: asked, change: func(s *State) { s.Hooks, s.Complete, s.Secret = mine, false, secretMeta("alerts-webhook", "6") },
			want: step{Use: "6", Rename: true, Exists: true}},
		"the Secret names one that this bot has not created": {asked: asked, change: func(s *State) {
			s.Hooks, s.Secret = slices.Clone(mine[:1]), secretMeta("alerts-webhook", "5")
			s.Hooks[0].Token = discordclient.NewSecret("t5")
		}, want: step{Create: true, Write: true, Exists: true}},
		"what this process made, before the status shows it": {asked: &v1alpha1.ChannelWebhook{Name: "new"}, change: func(s *State) {
			s.Hooks, s.Record = mine, lifecycle.Record{Known: true, ID: "6"}
		}, want: step{Use: "6", Rename: true, Write: true}},
		"that of another bot, while its Secret stands": {asked: asked, has: &v1alpha1.WebhookStatus{ID: "5"}, change: func(s *State) {
			s.Hooks, s.Secret = mine[:1], secretMeta("alerts-webhook", "5")
		}, want: step{Use: "5", Exists: true}},
		"that of another bot, whose Secret is gone": {asked: asked, has: &v1alpha1.WebhookStatus{ID: "5"}, change: func(s *State) { s.Hooks = mine[:1] }, want: step{Create: true, Write: true}},
		"a create may be under way":                 {asked: asked, change: func(s *State) { s.Complete = false }, want: step{Reason: v1alpha1.ReasonCreatePending}},
		"there are 15":                              {asked: asked, change: func(s *State) { s.Hooks = many }, want: step{Reason: v1alpha1.ReasonLimitReached}},
		"there are 15, one of them ours":            {asked: asked, change: func(s *State) { s.Hooks = slices.Concat(many[1:], mine[2:]) }, want: step{Use: "7", Write: true}},
		"another object owns the Secret": {asked: asked, change: func(s *State) {
			s.Secret = changedMeta(secretMeta("alerts-webhook", "7"), func(m *metav1.PartialObjectMetadata) { m.OwnerReferences[0].UID = "other" })
		}, want: step{Reason: v1alpha1.ReasonNameConflict, Exists: true}},
		"Discord cannot be read": {asked: asked, change: func(s *State) { s.Err = conditions.Progressing("Outage", "") }, want: step{Reason: "Outage"}},
		"the Secret has another name": {asked: &v1alpha1.ChannelWebhook{Name: "alerts", SecretName: "new"}, has: has, change: func(s *State) {
			s.Hooks, s.Secrets = mine, []metav1.PartialObjectMetadata{*secretMeta("alerts-webhook", "7")}
		}, want: step{Use: "7", Write: true, Obsolete: []string{"alerts-webhook"}}},
		"no longer asked for": {has: has, change: func(s *State) {
			s.Hooks, s.Secrets = mine, []metav1.PartialObjectMetadata{*secretMeta("alerts-webhook", "7")}
		},
			want: step{Remove: "7", Obsolete: []string{"alerts-webhook"}}},
		"no longer asked for, and gone": {has: has, change: func(s *State) { s.Hooks = mine[:2] }},
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

// A webhook that was there before its object may be in use by others.
func TestAnOlderWebhookStays(t *testing.T) {
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
		"older":                           {made.Add(time.Hour), ""},
		"newer":                           {made.Add(-time.Hour), o.Status.Webhook.ID},
		"newer, as clocks of both differ": {made.Add(time.Second), o.Status.Webhook.ID},
	} {
		o.CreationTimestamp = metav1.NewTime(c.object)
		if got := NewPlan(o, state); got.Remove != c.want {
			t.Errorf("%s: removes %q, want %q", name, got.Remove, c.want)
		}
	}
}

func TestAWebhookNeedsItsPermission(t *testing.T) {
	t.Parallel()
	guild := newGuild(t, all&^discordtest.PermManageWebhooks)
	for name, live := range map[string]*discordclient.Channel{"a new channel": nil, "one that exists": {Name: "alerts"}} {
		got := NewPlan(object(spec{Name: "alerts", Webhook: &v1alpha1.ChannelWebhook{Name: "alerts"}}), observed(guild, live))
		if reasonOf(got.Err) != v1alpha1.ReasonMissingPermissions || got.Create {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheSecretHoldsTheURL(t *testing.T) {
	t.Parallel()
	hook := &discordclient.Webhook{ID: "7", URL: discordclient.NewSecret("https://discord.example/7/t")}
	got := secretFor(object(spec{Webhook: &v1alpha1.ChannelWebhook{SecretName: "elsewhere"}}), hook)
	if *got.Name != "elsewhere" || string(got.Data["url"]) != "https://discord.example/7/t" || got.Annotations[webhookAnnotation] != "7" || *got.OwnerReferences[0].UID != "uid" {
		t.Errorf("%+v", got)
	}
}
