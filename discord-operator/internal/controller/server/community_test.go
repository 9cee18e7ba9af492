// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

func TestCommunity(t *testing.T) {
	t.Parallel()
	snapshot := (&guildcache.Snapshot{}).With([]*discordclient.Channel{{ID: "1"}, {ID: "2"}}, nil)
	channel := func(id string) *v1alpha1.DiscordChannel {
		return &v1alpha1.DiscordChannel{Status: v1alpha1.DiscordChannelStatus{ServerID: "7", ChannelID: id}}
	}
	deleted := func(c *v1alpha1.DiscordChannel) *v1alpha1.DiscordChannel {
		c.DeletionTimestamp = new(metav1.Now())
		return c
	}
	both := map[string]*v1alpha1.DiscordChannel{"rules": channel("1"), "updates": channel("2")}
	for name, c := range map[string]struct {
		channels map[string]*v1alpha1.DiscordChannel
		live     discordclient.Guild
		level    v1alpha1.VerificationLevel
		fields   []string
		features []string
		lowest   int // the verification level of the edit, 0 for none
	}{
		"enables Community": {channels: both, fields: []string{"verificationLevel", "explicitContentFilter", "rulesChannelRef",
			"publicUpdatesChannelRef", "community"}, features: []string{"COMMUNITY"}, lowest: 1},
		"keeps the higher verification level of the spec": {channels: both, level: v1alpha1.VerificationLevelHigh, fields: []string{"verificationLevel",
			"explicitContentFilter", "rulesChannelRef", "publicUpdatesChannelRef", "community"},
			features: []string{"COMMUNITY"}, lowest: 3},
		"enables Community again": {channels: both, live: discordclient.Guild{VerificationLevel: 4, ExplicitContentFilter: 2,
			RulesChannelID: "1", PublicUpdatesChannelID: "2", Features: []string{"INVITES_DISABLED", "VERIFIED"}},
			fields: []string{"community"}, features: []string{"COMMUNITY", "INVITES_DISABLED"}},
		"waits for a channel": {channels: map[string]*v1alpha1.DiscordChannel{"rules": channel("1")},
			fields: []string{"verificationLevel", "explicitContentFilter", "rulesChannelRef"}, lowest: 1},
		"changes the rules channel": {channels: both, live: discordclient.Guild{VerificationLevel: 1, ExplicitContentFilter: 2,
			RulesChannelID: "3", PublicUpdatesChannelID: "2", Features: []string{"COMMUNITY", "DISCOVERABLE", "NEWS"}},
			fields: []string{"rulesChannelRef"}, features: []string{"COMMUNITY", "DISCOVERABLE"}},
		"ignores a channel that is being deleted": {channels: map[string]*v1alpha1.DiscordChannel{"rules": deleted(channel("1")),
			"updates": channel("2")}, live: discordclient.Guild{VerificationLevel: 1, ExplicitContentFilter: 2,
			RulesChannelID: "3", PublicUpdatesChannelID: "2"}},
		"in sync": {channels: both, live: discordclient.Guild{VerificationLevel: 1, ExplicitContentFilter: 2,
			RulesChannelID: "1", PublicUpdatesChannelID: "2", Features: []string{"COMMUNITY", "NEWS"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &v1alpha1.DiscordServer{Spec: v1alpha1.DiscordServerSpec{
				Community: v1alpha1.CommunityEnabled, VerificationLevel: c.level,
				RulesChannelRef:         &v1alpha1.ChannelReference{Name: "rules"},
				PublicUpdatesChannelRef: &v1alpha1.ChannelReference{Name: "updates"},
			}}
			live := *snapshot
			live.Guild = c.live
			edit, d, _ := differences(server, State{GuildID: "7", Snapshot: &live, Referenced: c.channels}, nil)
			if diff := cmp.Diff(c.fields, d.Fields); diff != "" {
				t.Error(diff)
			}
			features, enables := edit.Features.Get()
			if diff := cmp.Diff(c.features, features); diff != "" {
				t.Error(diff)
			}
			rules, _ := edit.RulesChannelID.Get()
			updates, _ := edit.PublicUpdatesChannelID.Get()
			if enables && (rules != "1" || updates != "2") {
				t.Errorf("the channels %q and %q are not in the edit", rules, updates)
			}
			if level, _ := edit.VerificationLevel.Get(); level != c.lowest {
				t.Errorf("the verification level becomes %d", level)
			}
		})
	}
}

func TestCommunityNeedsAnAdministrator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		have    permissions.Bits
		exact   bool
		policy  v1alpha1.ManagementPolicy
		issue   bool
		enables bool
	}{
		"an administrator":               {have: permissions.Administrator, exact: true, enables: true},
		"a bot without Administrator":    {have: permissions.ManageGuild, exact: true, issue: true},
		"a bot with unknown permissions": {enables: true},
		"an observed server":             {exact: true, policy: v1alpha1.ManagementPolicyObserve, enables: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Plan{Fields: []string{"name", "community"}, Changes: []resource.Change{{Field: "community"}}}
			p.Edit.Features = discordclient.Set([]string{"COMMUNITY"})
			server := &v1alpha1.DiscordServer{}
			server.Spec.ManagementPolicy = c.policy
			issue := p.withoutAdministrator(server, c.have, c.exact)
			if (issue != nil) != c.issue || p.Edit.Features.IsZero() == c.enables || slices.Contains(p.Fields, "community") != c.enables {
				t.Errorf("%v, %+v", issue, p)
			}
			if !slices.Contains(p.Fields, "name") || len(p.Changes) != 1 {
				t.Errorf("the field name or the change is gone: %+v", p)
			}
		})
	}
}
