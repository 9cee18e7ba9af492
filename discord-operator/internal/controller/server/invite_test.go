// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func TestInvitationAsksForTheManagedObjectsOfItsNamespace(t *testing.T) {
	t.Parallel()
	denying := func(permission v1alpha1.Permission) []v1alpha1.PermissionOverwrite {
		return []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{permission}}}
	}
	channel := func(permission v1alpha1.Permission) *v1alpha1.DiscordChannel {
		return &v1alpha1.DiscordChannel{Spec: v1alpha1.DiscordChannelSpec{PermissionOverwrites: denying(permission)}}
	}
	role := func(all ...v1alpha1.Permission) *v1alpha1.DiscordRole {
		return &v1alpha1.DiscordRole{Spec: v1alpha1.DiscordRoleSpec{Permissions: all}}
	}
	const always = discordclient.PermissionsOverwrites
	observed, foreign := role("BanMembers"), channel("BanMembers")
	observed.Spec.ManagementPolicy = v1alpha1.ManagementPolicyObserve
	foreign.Namespace = "other"
	for name, c := range map[string]struct {
		object status.Object
		want   permissions.Bits
	}{
		"an overwrite of a group": {&v1alpha1.DiscordGroup{
			Spec: v1alpha1.DiscordGroupSpec{PermissionOverwrites: denying("Speak")}}, always | permissions.Speak},
		"an overwrite of a channel": {channel("Speak"), always | permissions.Speak},
		"a role":                    {role("Speak", "MoveMembers"), always | permissions.Speak | permissions.MoveMembers},
		"a voice channel": {&v1alpha1.DiscordChannel{
			Spec: v1alpha1.DiscordChannelSpec{Type: v1alpha1.ChannelTypeVoice}}, always | permissions.Connect},
		"an overwrite with Administrator": {channel("Administrator"), always},
		"a role with Administrator":       {role("Administrator"), always},
		"an observed role":                {observed, always},
		"another namespace's channel":     {foreign, always},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s State
			s.Include(&v1alpha1.DiscordServer{}, c.object)
			if got := s.invited(); got != c.want {
				t.Errorf("it asks for %v, want %v", got.Names(), c.want.Names())
			}
		})
	}
}

func TestInvitationAsksForTheBotsOwnPermissions(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermAdministrator|discordtest.Permissions(permissions.MoveMembers))
	s := State{Snapshot: g.Snapshot(t)}
	if got, want := s.invited(), discordclient.PermissionsOverwrites|permissions.MoveMembers; got != want {
		t.Errorf("it asks for %v, want %v", got.Names(), want.Names())
	}
}
