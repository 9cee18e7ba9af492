// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/pending"
)

func (g *guildState) setRole(id string, role *discordclient.Role, at time.Time) bool {
	guild := g.snap().Guild
	guild.Roles = slices.DeleteFunc(slices.Clone(guild.Roles), func(r discordclient.Role) bool { return r.ID == id })
	if role != nil {
		guild.Roles = append(guild.Roles, *role)
		slices.SortFunc(guild.Roles, func(a, b discordclient.Role) int { return discordclient.CompareIDs(a.ID, b.ID) })
	} else {
		g.tombstones[id] = at
	}
	return g.setGuild(guild, at)
}

type roleEvent struct {
	GuildID string             `json:"guild_id"`
	Role    discordclient.Role `json:"role"`
}

func (st *Store) onRole(event *roleEvent) error {
	if event.GuildID == "" || event.Role.ID == "" {
		return errNoObject
	}
	g, now := st.eventFor(event.GuildID), time.Now()
	if g == nil || !g.pendingFor(event.Role.ID).Event(event.Role, now) {
		return nil
	}
	if _, gone := g.tombstones[event.Role.ID]; !gone && g.setRole(event.Role.ID, &event.Role, now) {
		st.emitRole(g.id, event.Role.ID)
	}
	return nil
}

type roleDeleteEvent struct {
	GuildID string `json:"guild_id"`
	RoleID  string `json:"role_id"`
}

func (st *Store) onRoleDelete(event *roleDeleteEvent) error {
	if event.GuildID == "" {
		return errNoObject
	}
	if g := st.eventFor(event.GuildID); g != nil && g.setRole(event.RoleID, nil, time.Now()) {
		st.emitRole(g.id, event.RoleID)
	}
	return nil
}

// WriteRoles calls do, which writes the roles in ids, and applies its result (nil: deleted).
func (st *Store) WriteRoles(
	guildID string, do func() (map[string]*discordclient.Role, error), ids ...string,
) error {
	began, own := time.Now(), map[string]*pending.Writes{}
	st.with(guildID, func(g *guildState) {
		for _, id := range ids {
			own[id] = g.pendingFor(id)
			own[id].Begin()
		}
	})
	states, err := do()
	st.with(guildID, func(g *guildState) {
		for id, p := range own {
			if states[id] == nil {
				p.End(nil, time.Now())
			}
		}
		for id, role := range states {
			before, _ := g.snap().Role(id)
			if !g.wroteRole(id, own[id], role) {
				continue
			}
			g.expectEvent(began)
			if role != nil && role.Name != before.Name {
				st.emitRole(guildID, id)
			}
		}
		if discordclient.ClassOf(err) == discordclient.ClassGone {
			st.markStale(g, 0)
		}
	})
	return err
}

// wroteRole applies the result of a write of a role (nil: deleted) and reports whether the view
// changed. It ignores role if the Gateway's event of the same write came before the response: later
// events may already have changed the view.
func (g *guildState) wroteRole(id string, own *pending.Writes, role *discordclient.Role) bool {
	now := time.Now()
	switch _, there := g.snap().Role(id); {
	case role == nil:
		return g.setRole(id, nil, now)
	case own == nil && there:
		return false
	case own == nil:
		own = g.pendingFor(id)
		own.Begin()
	}
	return own.End(*role, now) && g.setRole(id, role, now)
}
