// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "jujutsu"}}
	observed := State{Guild: &bot.Guild{Server: server, ID: "1", Snapshot: &guildcache.Snapshot{}, URL: "https://discord.com/channels/1"}}
	live := &discordclient.Channel{ID: "2", ParentID: "3"}
	full := v1alpha1.DiscordChannelStatus{
		ServerRef: &v1alpha1.ServerReference{Namespace: "platform", Name: "jujutsu"}, ServerID: "1", ChannelID: "2", GroupID: "3", ChannelURL: "https://discord.com/channels/1/2",
		Webhook: &v1alpha1.WebhookStatus{ID: "7", SecretRef: &v1alpha1.LocalSecretReference{Name: "s"}},
	}
	changed := func(change func(*v1alpha1.DiscordChannelStatus)) v1alpha1.DiscordChannelStatus {
		s := *full.DeepCopy()
		change(&s)
		return s
	}
	hook := &v1alpha1.ChannelWebhook{Name: "w"}
	waiting, wrong := conditions.Progressing("W", "w"), conditions.Degraded("T", "t")
	cases := map[string]struct {
		was        v1alpha1.DiscordChannelStatus
		asked      *v1alpha1.ChannelWebhook
		state      State
		now        Results
		end        error
		want       v1alpha1.DiscordChannelStatus
		conditions map[string]string
	}{
		"reconciled": {
			asked: hook, state: observed, now: Results{Results: lifecycle.Results{Live: live}, Webhook: webhook.Results{Hook: &discordclient.Webhook{ID: "7"}, Secret: "s"}}, want: full,
			conditions: map[string]string{"Ready": "True/Reconciled", "Available": "True/OnDiscord", "Progressing": "False/Reconciled", "Degraded": "False/Reconciled"},
		},
		"the webhook has no Secret yet": {
			asked: hook, state: observed, now: Results{Results: lifecycle.Results{Live: live}, Webhook: webhook.Results{Hook: &discordclient.Webhook{ID: "7"}}}, end: wrong,
			want:       changed(func(s *v1alpha1.DiscordChannelStatus) { s.Webhook.SecretRef = nil }),
			conditions: map[string]string{"Ready": "False/T", "Available": "True/OnDiscord", "Progressing": "False/T", "Degraded": "True/T"},
		},
		"the webhook cannot be read and keeps its status": {
			was: full, asked: hook, state: observed, now: Results{Results: lifecycle.Results{Live: live}}, end: errors.New("500"), want: full,
			conditions: map[string]string{"Ready": "False/Retrying", "Available": "True/OnDiscord", "Progressing": "True/Retrying", "Degraded": "False/Retrying"},
		},
		"the webhook is not deleted yet": {was: full, state: observed, now: Results{Results: lifecycle.Results{Live: live}}, end: waiting, want: full,
			conditions: map[string]string{"Ready": "False/W", "Available": "True/OnDiscord", "Progressing": "True/W", "Degraded": "False/W"}},
		"the webhook is deleted, and the channel has another issue": {
			was: full, state: observed, now: Results{Results: lifecycle.Results{Live: live}, Webhook: webhook.Results{Dropped: true}}, end: wrong,
			want:       changed(func(s *v1alpha1.DiscordChannelStatus) { s.Webhook = nil }),
			conditions: map[string]string{"Ready": "False/T", "Available": "True/OnDiscord", "Progressing": "False/T", "Degraded": "True/T"},
		},
		"the webhook is deleted": {was: full, state: observed, now: Results{Results: lifecycle.Results{Live: live}, Webhook: webhook.Results{Dropped: true}}, want: changed(func(s *v1alpha1.DiscordChannelStatus) { s.Webhook = nil }),
			conditions: map[string]string{"Ready": "True/Reconciled", "Available": "True/OnDiscord", "Progressing": "False/Reconciled", "Degraded": "False/Reconciled"}},
		"the channel has left its group": {was: full, asked: hook, state: observed, now: Results{Results: lifecycle.Results{Live: &discordclient.Channel{ID: "2"}}, Webhook: webhook.Results{Hook: &discordclient.Webhook{ID: "7"}, Secret: "s"}},
			want:       changed(func(s *v1alpha1.DiscordChannelStatus) { s.GroupID = "" }),
			conditions: map[string]string{"Ready": "True/Reconciled", "Available": "True/OnDiscord", "Progressing": "False/Reconciled", "Degraded": "False/Reconciled"}},
		"not created yet": {state: observed, end: waiting, want: v1alpha1.DiscordChannelStatus{ServerRef: full.ServerRef},
			conditions: map[string]string{"Ready": "False/W", "Available": "False/NotOnDiscord", "Progressing": "True/W", "Degraded": "False/W"}},
		"not observed yet": {end: waiting, conditions: map[string]string{"Ready": "False/W", "Available": "False/NotOnDiscord", "Progressing": "True/W", "Degraded": "False/W"}},
		"deleted on Discord, not recreated yet": {was: full, asked: hook, state: observed, end: wrong, want: full,
			conditions: map[string]string{"Ready": "False/T", "Available": "False/NotOnDiscord", "Progressing": "False/T", "Degraded": "True/T"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(spec{Name: "alerts", Webhook: c.asked})
			o.Generation, o.Status = 4, c.was
			got := statusOf(o, c.state, c.now, conditions.Worst(conditions.Of(c.end)))
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(v1alpha1.DiscordChannelStatus{}, "Conditions", "ObservedGeneration")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.conditions, brief(got.Conditions)); diff != "" {
				t.Error(diff)
			}
			if got.ObservedGeneration != 4 {
				t.Errorf("the status is about generation %d", got.ObservedGeneration)
			}
		})
	}
}

func TestAvailabilityStaysWithoutObservation(t *testing.T) {
	t.Parallel()
	for _, can := range []conditions.Availability{conditions.Usable("A", "a"), conditions.Unusable("B", "b")} {
		o := object(spec{Name: "alerts"})
		conditions.Set(&o.Status.Conditions, 1, can, nil)
		before := brief(o.Status.Conditions)["Available"]
		if after := brief(statusOf(o, State{}, Results{}, conditions.Worst(conditions.Of(errors.New("500")))).Conditions)["Available"]; after != before {
			t.Errorf("Available is %s, was %s", after, before)
		}
	}
}

func brief(list []metav1.Condition) map[string]string {
	all := map[string]string{}
	for _, c := range list {
		all[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return all
}

func TestDeletedGroupIsReported(t *testing.T) {
	t.Parallel()
	gone := metav1.Unix(1, 0)
	for want, deleted := range map[string]*metav1.Time{
		"DiscordGroup alerts does not exist on Discord yet.": nil,
		"DiscordGroup alerts is being deleted, and has no category on Discord. Name another DiscordGroup in spec.groupRef. Do not delete this DiscordChannel instead: its channel on Discord could be deleted with all messages.": &gone,
	} {
		group := &v1alpha1.DiscordGroup{ObjectMeta: metav1.ObjectMeta{Name: "alerts", DeletionTimestamp: deleted}}
		issue := noCategory(group, "")
		if issue.IsDegraded() || issue.Message != want {
			t.Errorf("got %v, want %q", issue, want)
		}
	}
}

// Channels in the group's namespace report the reason and the message of the group's condition.
// Channels in other namespaces report only the reason.
func TestDegradedGroupIsReported(t *testing.T) {
	t.Parallel()
	group := &v1alpha1.DiscordGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "alerts"}}
	conditions.Set(&group.Status.Conditions, 1, conditions.Unusable("A", "a"),
		conditions.Degraded(v1alpha1.ReasonMissingPermissions, "The bot lacks ManageChannels."))
	for by, want := range map[string]string{
		"platform": "DiscordGroup alerts does not exist on Discord (MissingPermissions): The bot lacks ManageChannels.",
		"team-a":   "DiscordGroup platform/alerts does not exist on Discord (MissingPermissions). Ask its owner.",
	} {
		if got := noCategory(group, by).Message; got != want {
			t.Errorf("%s reads %q, want %q", by, got, want)
		}
	}
}
