// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func TestWordsOfDifferences(t *testing.T) {
	t.Parallel()
	server := &v1alpha1.DiscordServer{Spec: v1alpha1.DiscordServerSpec{
		VerificationLevel: v1alpha1.VerificationLevelHigh, DefaultNotifications: v1alpha1.DefaultNotificationsOnlyMentions,
		ExplicitContentFilter: v1alpha1.ExplicitContentFilterAllMembers, AFKTimeout: "15m", AFKChannelID: new("7"),
		SystemChannelFlags: []v1alpha1.SystemChannelFlag{v1alpha1.SuppressJoinNotifications, v1alpha1.SuppressPremiumSubscriptions},
	}}
	snap := &guildcache.Snapshot{Guild: discordclient.Guild{AFKTimeout: 60}}
	_, d, _ := differences(server, State{Snapshot: snap}, new("sha256:1"))
	var got []string
	for _, d := range resource.Changes(d.Changes, snap) {
		got = append(got, d.String())
	}
	want := []string{
		"verificationLevel: None -> High", "defaultNotifications: AllMessages -> OnlyMentions",
		"explicitContentFilter: Disabled -> AllMembers", "afkChannelId: none -> 7", "afkTimeout: 1m -> 15m",
		"systemChannelFlags: none -> SuppressJoinNotifications, SuppressPremiumSubscriptions", "icon: none -> sha256:1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
