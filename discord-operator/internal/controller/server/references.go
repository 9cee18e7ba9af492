// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

type reference struct {
	name, wire string
	in         func(*v1alpha1.DiscordServerSpec) **v1alpha1.ChannelReference
}

var references = []reference{
	{"afkChannelRef", "afk_channel_id",
		func(s *v1alpha1.DiscordServerSpec) **v1alpha1.ChannelReference { return &s.AFKChannelRef }},
	{"systemChannelRef", "system_channel_id",
		func(s *v1alpha1.DiscordServerSpec) **v1alpha1.ChannelReference { return &s.SystemChannelRef }},
	{"rulesChannelRef", "rules_channel_id",
		func(s *v1alpha1.DiscordServerSpec) **v1alpha1.ChannelReference { return &s.RulesChannelRef }},
	{"publicUpdatesChannelRef", "public_updates_channel_id",
		func(s *v1alpha1.DiscordServerSpec) **v1alpha1.ChannelReference { return &s.PublicUpdatesChannelRef }},
}

func referenced(spec *v1alpha1.DiscordServerSpec) (names []string) {
	for _, ref := range references {
		if to := *ref.in(spec); to != nil {
			names = append(names, to.Name)
		}
	}
	return names
}

// Referenced returns the existing channels that a server's fields refer to, by object name.
func Referenced(
	ctx context.Context, objects client.Reader, server *v1alpha1.DiscordServer,
) (map[string]*v1alpha1.DiscordChannel, error) {
	all := map[string]*v1alpha1.DiscordChannel{}
	for _, name := range referenced(&server.Spec) {
		var c v1alpha1.DiscordChannel
		err := objects.Get(ctx, types.NamespacedName{Namespace: server.Namespace, Name: name}, &c)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get DiscordChannel %s: %w", name, err)
		}
		if err == nil {
			all[name] = &c
		}
	}
	return all, nil
}

// referenced returns an issue for a channel that is being deleted: a user may have chosen another
// rules or updates channel on Discord, and the operator must not undo this choice.
func (s *State) referenced(field, name string) (string, *conditions.Issue) {
	c := s.Referenced[name]
	if c != nil && !c.DeletionTimestamp.IsZero() {
		return "", conditions.Progressing(v1alpha1.ReasonWaitingForChannel,
			"spec.%s names DiscordChannel %s, which is being deleted. Name another channel in that field.", field, name)
	}
	if c != nil && c.Status.ServerID == s.GuildID {
		if _, exists := s.Snapshot.Channel(c.Status.ChannelID); exists {
			return c.Status.ChannelID, nil
		}
	}
	return "", conditions.Progressing(v1alpha1.ReasonWaitingForChannel,
		"DiscordChannel %s of spec.%s does not exist, or has no channel in this server yet. If it does not exist, create "+
			"it, or name another DiscordChannel in that field.", name, field)
}
