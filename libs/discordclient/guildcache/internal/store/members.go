// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/pending"
)

// The Gateway's events about roles, the bot's own membership and webhooks.

// changeRoles replaces the roles of a guild.
func (st *Store) changeRoles(guildID string, f func([]discordclient.Role) []discordclient.Role) error {
	if guildID == "" {
		return errNoObject
	}
	g := st.heard(guildID)
	if g == nil {
		return nil
	}
	guild := g.snap().Guild
	guild.Roles = f(slices.Clone(guild.Roles))
	if g.setGuild(guild, time.Now()) {
		st.emit(EventGuild, g.id, "")
	}
	return nil
}

type roleEvent struct {
	GuildID string             `json:"guild_id"`
	Role    discordclient.Role `json:"role"`
}

func (st *Store) onRole(event *roleEvent) error {
	if event.Role.ID == "" {
		return errNoObject
	}
	return st.changeRoles(event.GuildID, func(roles []discordclient.Role) []discordclient.Role {
		roles = slices.DeleteFunc(roles, func(r discordclient.Role) bool { return r.ID == event.Role.ID })
		roles = append(roles, event.Role)
		slices.SortFunc(roles, func(a, b discordclient.Role) int { return discordclient.CompareIDs(a.ID, b.ID) })
		return roles
	})
}

type roleDeleteEvent struct {
	GuildID string `json:"guild_id"`
	RoleID  string `json:"role_id"`
}

func (st *Store) onRoleDelete(event *roleDeleteEvent) error {
	return st.changeRoles(event.GuildID, func(roles []discordclient.Role) []discordclient.Role {
		return slices.DeleteFunc(roles, func(r discordclient.Role) bool { return r.ID == event.RoleID })
	})
}

// memberEvent is what is used of a member.
type memberEvent struct {
	GuildID string     `json:"guild_id"`
	Roles   []string   `json:"roles"`
	User    identified `json:"user"`
}

// onMember follows the bot's own roles; of other members nothing is asked for.
func (st *Store) onMember(event *memberEvent) error {
	if g := st.heard(event.GuildID); g != nil && event.User.ID == st.selfID {
		g.update(func(s *Snapshot) { s.selfRoles, s.selfKnown = event.Roles, true })
		st.emit(EventGuild, g.id, "")
	}
	return nil
}

type webhooksEvent struct {
	GuildID   string `json:"guild_id"`
	ChannelID string `json:"channel_id"`
}

// onWebhooks makes the webhooks of a channel unknown, unless an own write explains the event: it
// says no more than that something changed.
func (st *Store) onWebhooks(event *webhooksEvent) error {
	g := st.heard(event.GuildID)
	if g == nil {
		return nil
	}
	own := g.hookChanges[event.ChannelID].own
	for len(own) > 0 && time.Since(own[0]) > pending.Life {
		own = own[1:]
	}
	if len(own) > 0 {
		g.hookChanges[event.ChannelID] = hookChanges{time.Now(), own[1:]}
		return nil
	}
	g.hookChanges[event.ChannelID] = hookChanges{last: time.Now()}
	g.forgetHooks(event.ChannelID)
	st.emit(EventWebhooks, g.id, event.ChannelID)
	return nil
}
