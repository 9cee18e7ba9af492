// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"

	"github.com/bwmarrin/discordgo"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
)

// State is what was observed of a group.
type State struct {
	// Guild is nil where the group could not be observed.
	Guild *bot.Guild
	// Binding is where it stands with its category.
	Binding external.Binding
	// Position is its desired place; nil where the spec has none.
	Position *external.Position
}

func (r *Reconciler) observe(ctx context.Context, g *v1alpha1.DiscordGroup) (s State, err error) {
	guild, err := r.Bots.Guild(ctx, types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ServerRef.Name})
	if err != nil {
		return s, err
	}
	if g.Status.ServerID != "" && g.Status.ServerID != guild.ID {
		return s, conditions.Degraded(v1alpha1.ReasonServerMismatch,
			"The category is in server %s, but DiscordServer %s now manages server %s. Create a new DiscordGroup.",
			g.Status.ServerID, g.Spec.ServerRef.Name, guild.ID)
	}
	if s.Position, err = r.Categories.Position(ctx, g, index.GroupByServer, g.Spec.ServerRef.Name); err != nil {
		return s, err
	}
	s.Guild = guild
	s.Binding, err = r.Categories.Bind(ctx, guild.Bot.Client, lookup(g, guild.ID))
	guild.Refresh() // Bind may have read it
	return s, err
}

func lookup(g *v1alpha1.DiscordGroup, guildID string) external.Lookup {
	return external.Lookup{Object: g, GuildID: guildID, Types: []discordgo.ChannelType{discordgo.ChannelTypeGuildCategory}}
}

// observeDeletion observes what a deleted group has on Discord, once nothing depends on it.
func (r *Reconciler) observeDeletion(ctx context.Context, g *v1alpha1.DiscordGroup) (s State, err error) {
	if err := r.dependents(ctx, g); err != nil || retained(g) {
		return s, err
	}
	server := types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ServerRef.Name}
	if s.Guild, err = r.Bots.GuildToDelete(ctx, server, g.Status.ServerID); err != nil {
		return s, err
	}
	s.Binding, err = r.Categories.BindDeleted(ctx, s.Guild.Bot.Client, lookup(g, s.Guild.ID))
	return s, err
}

func retained(g *v1alpha1.DiscordGroup) bool { return Kind.Identity(g).Retained() }

// dependents returns, as an issue, the channels that still refer to the group.
func (r *Reconciler) dependents(ctx context.Context, g *v1alpha1.DiscordGroup) error {
	var channels v1alpha1.DiscordChannelList
	err := index.List(ctx, r.Client, &channels, g.Namespace, index.ChannelByGroup, g.Name)
	if err != nil || len(channels.Items) == 0 {
		return err
	}
	names := make([]string, 0, len(channels.Items))
	for i := range channels.Items {
		names = append(names, channels.Items[i].Name)
	}
	return conditions.Progressing(v1alpha1.ReasonWaitingForDependents,
		"DiscordChannels still refer to the group: %s. Delete or move them.", issues.Some(names))
}
