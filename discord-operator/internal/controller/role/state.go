// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// State is the observed state of a role.
type State struct {
	Guild     *bot.Guild // nil if the role could not be observed
	Binding   lifecycle.Binding
	Position  *lifecycle.Position // nil if the spec has none
	LowPlaces *LowPlaces          // nil for a role of the server's namespace
}

func (s *State) bounds() lifecycle.Bounds {
	if s.LowPlaces == nil {
		return nil
	}
	return s.LowPlaces
}

func (s *State) live() *discordclient.Role { return resource.Role(s.Binding.Live) }

func (r *Reconciler) observe(ctx context.Context, role *v1alpha1.DiscordRole) (s State, err error) {
	name := role.Spec.ServerRef.In(role.Namespace)
	server, err := r.Grants.ServerOfRoles(ctx, name, role.Namespace)
	if err != nil {
		return s, err
	}
	if refused := AdoptionRefused(role, server); refused != nil {
		return s, refused
	}
	guild, err := r.Bots.Referred(ctx, server, role.Namespace, role.Status.ServerID)
	if err != nil {
		return s, err
	}
	if s.LowPlaces, err = r.lowPlaces(ctx, role, server.Namespace, name.String()); err != nil {
		return s, err
	}
	if s.Position, err = r.Resources.Position(ctx, role, index.RoleByServer, name.String()); err != nil {
		return s, err
	}
	s.Guild = guild
	s.Binding, err = r.Resources.Bind(ctx, guild.Bot.Client, Lookup(role, guild))
	guild.Refresh() // Bind may have read the guild again
	return s, err
}

// AdoptionRefused says why a DiscordRole may not adopt a role, or keep an adopted role; nil if it
// may. spec.adopt may name the role that the operator has created for this object.
func AdoptionRefused(role *v1alpha1.DiscordRole, server *v1alpha1.DiscordServer) *conditions.Issue {
	created := role.Status.RoleID != "" && !role.Status.Adopted
	if adopt := role.Spec.Adopt; adopt == nil || created && adopt.ID == role.Status.RoleID {
		return nil
	}
	return grant.RoleAdoptionRefused(client.ObjectKeyFromObject(server), role.Namespace)
}

// Lookup describes the role for package lifecycle.
func Lookup(role *v1alpha1.DiscordRole, guild *bot.Guild) lifecycle.Lookup {
	return lifecycle.Lookup{
		Object: role, GuildID: guild.ID,
		NoAdoption:      grant.RoleAdoptionRefused(client.ObjectKeyFromObject(guild.Server), role.Namespace),
		ServerNamespace: guild.Server.Namespace,
	}
}

func (r *Reconciler) observeDeletion(ctx context.Context, role *v1alpha1.DiscordRole) (s State, err error) {
	name := role.Spec.ServerRef.In(role.Namespace)
	noRetention, err := r.NoRetention(ctx, role, name)
	if err != nil {
		return s, err
	}
	s.Binding.NoRetention = noRetention
	if r.Retained(role) && noRetention == nil {
		return s, nil
	}
	if role.Status.Adopted && name.Namespace != role.Namespace { // the role was adopted before such adoptions were refused
		s.Binding.Mismatch = grant.RoleAdoptionRefused(name, role.Namespace)
		return s, nil
	}
	_, refused := r.Grants.ServerOfRoles(ctx, name, role.Namespace)
	s.Guild, s.Binding, err = r.Deletable(ctx, role, name, role.Status.ServerID, refused, noRetention,
		func(guild *bot.Guild) lifecycle.Lookup { return Lookup(role, guild) })
	if err != nil || s.Guild == nil {
		return s, err
	}
	s.LowPlaces, err = r.lowPlaces(ctx, role, name.Namespace, name.String())
	return s, err
}
