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

type reference struct{ field, channel string }

func references(spec *v1alpha1.DiscordServerSpec) (all []reference) {
	add := func(field string, ref *v1alpha1.ChannelReference) {
		if ref != nil {
			all = append(all, reference{field, ref.Name})
		}
	}
	add("afkChannelRef", spec.AFKChannelRef)
	add("systemChannelRef", spec.SystemChannelRef)
	add("rulesChannelRef", spec.RulesChannelRef)
	add("publicUpdatesChannelRef", spec.PublicUpdatesChannelRef)
	return all
}

// Referenced returns the existing channels that a server's fields refer to, by name.
func Referenced(
	ctx context.Context, objects client.Reader, server *v1alpha1.DiscordServer,
) (map[string]*v1alpha1.DiscordChannel, error) {
	all := map[string]*v1alpha1.DiscordChannel{}
	for _, ref := range references(&server.Spec) {
		var c v1alpha1.DiscordChannel
		err := objects.Get(ctx, types.NamespacedName{Namespace: server.Namespace, Name: ref.channel}, &c)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get DiscordChannel %s: %w", ref.channel, err)
		}
		if err == nil {
			all[ref.channel] = &c
		}
	}
	return all, nil
}

// referenced ignores deleted channels: Discord keeps them until a user chooses others or disables
// Community, and the operator must not undo that.
func (s *State) referenced(ref reference) (string, *conditions.Issue) {
	c := s.Referenced[ref.channel]
	if c != nil && !c.DeletionTimestamp.IsZero() {
		return "", conditions.Progressing(v1alpha1.ReasonWaitingForChannel,
			"DiscordChannel %s of spec.%s is being deleted. Name another one there.", ref.channel, ref.field)
	}
	if c != nil && c.Status.ServerID == s.GuildID {
		if _, exists := s.Snapshot.Channel(c.Status.ChannelID); exists {
			return c.Status.ChannelID, nil
		}
	}
	return "", conditions.Progressing(v1alpha1.ReasonWaitingForChannel,
		"DiscordChannel %s of spec.%s does not exist in this server yet.", ref.channel, ref.field)
}
