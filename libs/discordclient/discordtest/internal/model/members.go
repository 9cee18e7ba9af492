// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
	"time"
)

// Member is a user in a guild.
type Member struct {
	UserID   string
	Roles    []string
	Nick     string
	JoinedAt time.Time
	// Own is the id of the role that came with the invitation; empty for none.
	Own string
}

// Wire is the member in Discord's JSON.
func (m *Member) Wire(u *User) map[string]any {
	return map[string]any{
		"user": u.Wire(), "nick": OrNull(m.Nick), "roles": append([]string{}, m.Roles...),
		"joined_at": m.JoinedAt.UTC().Format(TimeLayout), "avatar": nil, "banner": nil, "flags": 0, "pending": false,
		"communication_disabled_until": nil, "premium_since": nil, "mute": false, "deaf": false,
	}
}

// RemoveMember takes a member out of a guild. A connected bot gets GUILD_DELETE without
// `unavailable`.
func (d *Discord) RemoveMember(g *GuildState, user string) {
	delete(g.Members, user)
	d.Events.Left(g, user)
	d.OnChange()
}

// TakeRole takes a role from a member.
func (d *Discord) TakeRole(g *GuildState, m *Member, role string) {
	if i := slices.Index(m.Roles, role); i >= 0 {
		m.Roles = slices.Delete(m.Roles, i, i+1)
		d.MemberChanged(g, m)
	}
}

// MemberChanged sends a member's new roles to the bot itself, and to those that have the intent.
func (d *Discord) MemberChanged(g *GuildState, m *Member) {
	w := m.Wire(d.Users[m.UserID])
	w["guild_id"] = g.ID
	d.Emit(g, "GUILD_MEMBER_UPDATE", w)
}

// AddRole makes a role at the top of a guild; returns its id.
func (d *Discord) AddRole(g *GuildState, r Role) string {
	r.ID, r.Position = d.NewID(), len(g.Roles)
	g.Roles = append(g.Roles, r)
	d.Emit(g, "GUILD_ROLE_CREATE", map[string]any{"guild_id": g.ID, "role": r.Wire()})
	return r.ID
}

// RemoveRole deletes a role, its overwrites and its memberships. The order of the events is a
// guess.
func (d *Discord) RemoveRole(g *GuildState, role string) {
	g.Roles = slices.DeleteFunc(g.Roles, func(r Role) bool { return r.ID == role })
	d.Emit(g, "GUILD_ROLE_DELETE", map[string]any{"guild_id": g.ID, "role_id": role})
	for _, id := range slices.Sorted(maps.Keys(g.Members)) {
		d.TakeRole(g, g.Members[id], role)
	}
	for _, c := range g.sorted() {
		before := len(c.Overwrites)
		c.Overwrites = slices.DeleteFunc(c.Overwrites, func(o Overwrite) bool { return o.ID == role })
		if len(c.Overwrites) != before {
			d.Emit(g, "CHANNEL_UPDATE", c.Wire())
		}
	}
}

// Role is a role of a guild; @everyone has the guild's id.
type Role struct {
	ID, Name    string
	Permissions Permissions
	Position    int
	Managed     bool
}

// Wire is the role in Discord's JSON.
func (r *Role) Wire() map[string]any {
	return map[string]any{
		"id": r.ID, "name": r.Name, "permissions": r.Permissions, "position": r.Position, "managed": r.Managed,
		"color": 0, "colors": map[string]any{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil},
		"hoist": false, "mentionable": false, "icon": nil, "unicode_emoji": nil, "flags": 0,
	}
}
