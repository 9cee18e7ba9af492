// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Plan lists the changes of a server; a zero field is no change.
type Plan struct {
	// Edit changes the Fields of the guild.
	Edit   discordclient.GuildEdit
	Fields []string
	// Icon is the hash of the image that the icon becomes.
	Icon discordclient.Change[string]
	// Changes are what the edit is to change, also where it cannot be sent.
	Changes []resource.Change
	// Manageable says that groups and channels can be managed.
	Manageable bool
	// Issues keep the server from matching its spec.
	Issues []conditions.Issue
}

// NewPlan plans the guild of a server. It does no I/O.
func NewPlan(server *v1alpha1.DiscordServer, s State) (p Plan) {
	if issue := unmanageable(server, s); issue != nil {
		return Plan{Issues: []conditions.Issue{*issue}}
	}
	p.Manageable = true
	icon, unusable := desiredIcon(server, s)
	edit, d, waits := differences(server, s, icon)
	p.Edit, p.Fields, p.Changes, p.Icon = edit.GuildEdit, d.Fields, d.Changes, edit.icon
	have, exact := s.Snapshot.BotPermissions()
	powerless := p.withoutAdministrator(server, have, exact)
	needed := required(server, s, len(p.Fields) > 0 || managed(server))
	const forWhat = "which this server's settings, groups and channels require"
	lacking := issues.Lacking(have, exact, needed, forWhat, s.InviteURL)
	for _, issue := range []*conditions.Issue{
		powerless, lacking, waits, unusable, d.Issue(), s.Selector, tooManyServers(s),
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

// unmanageable is why groups and channels have to wait.
func unmanageable(server *v1alpha1.DiscordServer, s State) *conditions.Issue {
	switch {
	case s.Snapshot.Presence == guildcache.PresenceAbsent:
		return conditions.Degraded(v1alpha1.ReasonBotNotInServer,
			"The bot %q is not a member of server %s, or the server does not exist. "+
				"A user who may manage the server can add it: %s",
			s.Application.Name, s.GuildID, s.InviteURL)
	case foreign(server, s):
		return conditions.Degraded(v1alpha1.ReasonConflict,
			"Server %s is already managed by DiscordServer %s. Delete this object, which deletes nothing on Discord.",
			s.GuildID, client.ObjectKeyFromObject(s.Manager))
	}
	if status.Observed(server) {
		return nil
	}
	have, exact := s.Snapshot.BotPermissions()
	return issues.Lacking(have, exact, essential, "without which it cannot manage the server", s.InviteURL)
}

// tooManyServers is why changes on Discord are found late. Source of the limit:
// https://discord.com/developers/docs/events/gateway#sharding
func tooManyServers(s State) *conditions.Issue {
	if !s.TooManyGuilds {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonTooManyServers,
		"The bot %q is in 2,500 servers or more, with which Discord's Gateway accepts no single connection, so changes on "+
			"Discord are found only every --resync-period. Use another bot for this server, or take the bot out of others.",
		s.Application.Name)
}

// foreign reports whether another server manages the guild.
func foreign(server *v1alpha1.DiscordServer, s State) bool {
	return s.Manager != nil && s.Manager.UID != server.UID
}

// PlanDeletion plans what becomes of the guild of a deleted server, unless something is known that
// keeps it from being deleted.
func PlanDeletion(server *v1alpha1.DiscordServer, s State, known []conditions.Issue) lifecycle.Plan {
	switch {
	case len(known) > 0:
		return lifecycle.Plan{Issues: known}
	case retained(server), foreign(server, s), s.Claimed:
		return lifecycle.Plan{Delete: &lifecycle.Deletion{How: lifecycle.Retained}}
	}
	return lifecycle.Plan{Delete: &lifecycle.Deletion{By: deleter{}, ID: server.Status.ServerID}}
}

// retained reports whether the guild of a deleted server stays.
func retained(server *v1alpha1.DiscordServer) bool {
	return server.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDelete || server.Status.ServerID == "" ||
		status.Observed(server)
}

// essential is what the bot cannot do without.
const essential = permissions.ViewChannel | permissions.ManageChannels

// required is what the bot needs for what the server, its groups and its channels ask for. The
// audit log is what lost creates are found by. To observe a server needs nothing.
func required(server *v1alpha1.DiscordServer, s State, settings bool) permissions.Bits {
	if status.Observed(server) {
		return 0
	}
	mentioned, overwritten, webhooks := s.mentioned()
	needed := essential | permissions.ViewAuditLog | mentioned
	if settings {
		needed |= permissions.ManageGuild
	}
	if overwritten || s.Roles {
		needed |= permissions.ManageRoles
	}
	if webhooks {
		needed |= permissions.ManageWebhooks
	}
	return needed
}

// managed reports whether the spec names any setting.
func managed(server *v1alpha1.DiscordServer) bool {
	spec := server.Spec
	return spec.Name != "" || spec.Description != nil || spec.VerificationLevel != "" ||
		spec.DefaultNotifications != "" || spec.ExplicitContentFilter != "" || spec.PreferredLocale != "" ||
		spec.AFKChannelID != nil || spec.AFKTimeout != "" || spec.SystemChannelFlags != nil || spec.Icon != nil ||
		spec.Community != "" || len(references(&spec)) > 0
}

func notEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
