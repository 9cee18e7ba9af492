// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Plan lists the changes of a server. A zero field changes nothing.
type Plan struct {
	Edit       discordclient.GuildEdit // changes Fields
	Fields     []string
	Icon       discordclient.Change[string] // the hash of the new image
	Changes    []resource.Change            // the changes of Edit, even if Edit cannot be sent
	Manageable bool                         // whether groups and channels can be managed
	Issues     []conditions.Issue
}

// NewPlan compares the spec with the observed guild, and plans the edit of the guild.
func NewPlan(server *v1alpha1.DiscordServer, s State) (p Plan) {
	if issue := unmanageable(server, s); issue != nil {
		return Plan{Issues: []conditions.Issue{*issue}}
	}
	p.Manageable = true
	icon, unusable := desiredIcon(server, s)
	edit, d, waiting := differences(server, s, icon)
	p.Edit, p.Fields, p.Changes, p.Icon = edit.GuildEdit, d.Fields, d.Changes, edit.icon
	have, exact := s.Snapshot.BotPermissions()
	notAdministrator := p.withoutAdministrator(server, have, exact)
	needed := required(server, s, len(p.Fields) > 0 || managed(server))
	const forWhat = "which it needs to manage this server and its groups, channels and roles"
	lacking := bot.Lacks(s.Snapshot, needed, forWhat, s.InviteURL)
	for _, issue := range []*conditions.Issue{
		notAdministrator, lacking, waiting, unusable, d.Issue(), s.Selector, tooManyServers(s),
	} {
		if issue != nil {
			p.Issues = append(p.Issues, *issue)
		}
	}
	if exact && !have.Has(permissions.ManageGuild) {
		p.Edit, p.Fields, p.Icon = discordclient.GuildEdit{}, nil, discordclient.Change[string]{}
	}
	return p
}

// unmanageable says why groups and channels must wait; nil if they may continue.
func unmanageable(server *v1alpha1.DiscordServer, s State) *conditions.Issue {
	switch {
	case s.Snapshot.Presence == guildcache.PresenceAbsent:
		return conditions.Degraded(v1alpha1.ReasonBotNotInServer,
			"The bot %q is not a member of server %s, or the server does not exist. "+
				"A user with the permission Manage Server can add the bot: %s",
			s.Application.Name, s.GuildID, s.InviteURL)
	case managedByAnother(server, s):
		return conditions.Degraded(v1alpha1.ReasonConflict,
			"Server %s is already managed by DiscordServer %s. Delete one of the two objects, preferably the object to "+
				"which no DiscordGroup, DiscordChannel or DiscordRole refers. The server then stays on Discord, even if "+
				"spec.deletionPolicy of the deleted object is Delete.",
			s.GuildID, client.ObjectKeyFromObject(s.Manager))
	}
	if status.Observed(server) {
		return nil
	}
	return bot.Lacks(s.Snapshot, essential, "which it needs to manage the server", s.InviteURL)
}

// Discord allows at most 2,500 guilds per Gateway connection. Source:
// https://discord.com/developers/docs/events/gateway#sharding
func tooManyServers(s State) *conditions.Issue {
	if !s.TooManyGuilds {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonTooManyServers,
		"The bot %q is in 2,500 servers or more, so Discord's Gateway refuses its connection, and the operator finds "+
			"changes on Discord only every --resync-period. Use another bot for this server, "+
			"or remove the bot from other servers.",
		s.Application.Name)
}

func managedByAnother(server *v1alpha1.DiscordServer, s State) bool {
	return s.Manager != nil && s.Manager.UID != server.UID
}

// PlanDeletion plans the deletion of the guild. Any issue in known blocks the deletion.
func PlanDeletion(server *v1alpha1.DiscordServer, s State, known []conditions.Issue) lifecycle.Plan {
	switch {
	case len(known) > 0:
		return lifecycle.Plan{Issues: known}
	case retained(server), managedByAnother(server, s), s.Claimed:
		return lifecycle.Plan{Delete: &lifecycle.Deletion{How: lifecycle.Retained}}
	}
	return lifecycle.Plan{Delete: &lifecycle.Deletion{By: deleter{}, ID: server.Status.ServerID}}
}

func retained(server *v1alpha1.DiscordServer) bool {
	return server.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDelete || server.Status.ServerID == "" ||
		status.Observed(server)
}

const essential = permissions.ViewChannel | permissions.ManageChannels

// required includes ViewAuditLog, so that the operator can find the result of a create after a lost
// response.
func required(server *v1alpha1.DiscordServer, s State, settings bool) permissions.Bits {
	if status.Observed(server) {
		return 0
	}
	mentioned, overwritten, webhooks := s.mentioned()
	needed := essential | permissions.ViewAuditLog | mentioned&^permissions.Administrator
	if settings {
		needed |= permissions.ManageGuild
	}
	if overwritten || len(s.Roles) > 0 {
		needed |= permissions.ManageRoles
	}
	if webhooks {
		needed |= permissions.ManageWebhooks
	}
	return needed
}

func managed(server *v1alpha1.DiscordServer) bool {
	spec := server.Spec
	return spec.Name != "" || spec.Description != nil || spec.VerificationLevel != "" ||
		spec.DefaultNotifications != "" || spec.ExplicitContentFilter != "" || spec.PreferredLocale != "" ||
		spec.AFKChannelID != nil || spec.AFKTimeout != "" || spec.SystemChannelFlags != nil || spec.Icon != nil ||
		spec.Community != "" || len(referenced(&spec)) > 0
}
