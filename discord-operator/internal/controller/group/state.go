// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"

	"github.com/bwmarrin/discordgo"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// State is the observed state of a group.
type State struct {
	Guild    *bot.Guild // nil if the group could not be observed
	Binding  lifecycle.Binding
	Position *lifecycle.Position // nil if the spec has none
	Roles    map[string]string   // ids of the DiscordRoles in the overwrites; the keys are object names
	Names    overwrites.Names
	Selector *conditions.Issue // why the selector of allowed namespaces cannot be used; nil if it can
}

func (s *State) live() *discordclient.Channel { return resource.Channel(s.Binding.Live) }

func (r *Reconciler) observe(ctx context.Context, g *v1alpha1.DiscordGroup) (s State, err error) {
	name := g.Spec.ServerRef.In(g.Namespace)
	server, err := r.Grants.Server(ctx, name, nil, g.Namespace)
	if err != nil {
		return s, err
	}
	guild, err := r.Bots.Referred(ctx, server, g.Namespace, g.Status.ServerID)
	if err != nil {
		return s, err
	}
	if s.Position, err = r.Resources.Position(ctx, g, index.GroupByServer, name.String()); err != nil {
		return s, err
	}
	if s.Roles, err = r.Grants.Roles(ctx, g.Namespace, guild.Snapshot, g.Spec.PermissionOverwrites); err != nil {
		return s, err
	}
	s.Guild = guild
	s.Selector = r.Grants.SelectorUnusable(g.Spec.AllowedNamespaces)
	if s.Binding, err = r.Resources.Bind(ctx, guild.Bot.Client, Lookup(g, guild)); err != nil {
		return s, err
	}
	guild.Refresh() // Bind may have read the guild again
	s.Names, err = r.RoleNames.Observe(ctx, g, g.Spec.PermissionOverwrites, name, guild.Snapshot)
	return s, err
}

// Lookup describes the category for package lifecycle.
func Lookup(g *v1alpha1.DiscordGroup, guild *bot.Guild) lifecycle.Lookup {
	return lifecycle.Lookup{
		Object: g, GuildID: guild.ID, Types: []discordgo.ChannelType{discordgo.ChannelTypeGuildCategory},
		NoAdoption:      grant.AdoptionRefused(guild.Server, g.Namespace),
		ServerNamespace: guild.Server.Namespace,
	}
}

func (r *Reconciler) observeDeletion(ctx context.Context, g *v1alpha1.DiscordGroup) (s State, err error) {
	name := g.Spec.ServerRef.In(g.Namespace)
	noRetention, err := r.NoRetention(ctx, g, name)
	if err != nil {
		return s, err
	}
	s.Binding.NoRetention = noRetention
	if err := r.dependents(ctx, g); err != nil || retained(g) && noRetention == nil {
		return s, err
	}
	_, refused := r.Grants.Server(ctx, name, nil, g.Namespace)
	s.Guild, s.Binding, err = r.Deletable(ctx, g, name, g.Status.ServerID, refused, noRetention,
		func(guild *bot.Guild) lifecycle.Lookup { return Lookup(g, guild) })
	return s, err
}

func retained(g *v1alpha1.DiscordGroup) bool { return Kind.Identity(g).Retained() }

// dependents returns an issue if DiscordChannels refer to the group. It ignores a DiscordChannel
// whose deletion has ended. It ignores a DiscordChannel in a namespace that may not use the group,
// unless the DiscordChannel still has a channel in the group's category.
func (r *Reconciler) dependents(ctx context.Context, g *v1alpha1.DiscordGroup) error {
	var channels v1alpha1.DiscordChannelList
	err := index.List(ctx, r.Client, &channels, "", index.ChannelByGroup, client.ObjectKeyFromObject(g).String())
	if err != nil {
		return err
	}
	var names []string
	for i := range channels.Items {
		c := &channels.Items[i]
		if lifecycle.Ended(c) {
			continue
		}
		counts, err := r.Grants.InGroup(ctx, g, c.Namespace)
		if err != nil {
			return err
		}
		if counts || c.Status.ChannelID != "" && g.Status.GroupID != "" && c.Status.GroupID == g.Status.GroupID {
			names = append(names, issues.Name(c, g.Namespace))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return WaitingFor(g, names)
}

// WaitingFor returns the issue of a deleted group. The message says how to undo the deletion before
// it says how to continue, because users may delete the DiscordChannels by mistake.
func WaitingFor(g *v1alpha1.DiscordGroup, names []string) *conditions.Issue {
	return conditions.Progressing(v1alpha1.ReasonWaitingForDependents,
		"The group is being deleted and waits for the DiscordChannels that refer to it: %s. Its category is not deleted "+
			"on Discord yet. To undo the deletion: `kubectl discord undelete group %s -n %s`. To continue the deletion, "+
			"move these DiscordChannels to another group. Or set their spec.deletionPolicy to Retain and delete them; "+
			"their channels then stay on Discord. Without Retain, the deletion of a DiscordChannel can delete its channel "+
			"with all messages.",
		issues.JoinUpToTen(names), g.Name, g.Namespace)
}
