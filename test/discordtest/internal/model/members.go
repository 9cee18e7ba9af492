// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"time"
)

// Member is a user in a guild.
type Member struct {
	UserID   string
	Roles    []string
	Nick     string
	JoinedAt time.Time
	// Own is the id of the role that Server.AddMember created for this member, or empty. On
	// Discord, the invitation of a bot creates such a role.
	Own string
}

// Wire returns the member in Discord's JSON.
func (m *Member) Wire(u *User) map[string]any {
	return map[string]any{
		"user": u.Wire(), "nick": OrNull(m.Nick), "roles": append([]string{}, m.Roles...),
		"joined_at": m.JoinedAt.UTC().Format(TimeLayout), "avatar": nil, "banner": nil, "flags": 0, "pending": false,
		"communication_disabled_until": nil, "premium_since": nil, "mute": false, "deaf": false,
	}
}

// RemoveMember removes a member. A removed bot gets GUILD_DELETE without `unavailable`.
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

// GiveRole gives a role to a member.
func (d *Discord) GiveRole(g *GuildState, m *Member, role string) {
	if !slices.Contains(m.Roles, role) {
		m.Roles = append(m.Roles, role)
		d.MemberChanged(g, m)
	}
}

// MemberChanged sends GUILD_MEMBER_UPDATE after a change of a member's roles.
func (d *Discord) MemberChanged(g *GuildState, m *Member) {
	w := m.Wire(d.Users[m.UserID])
	w["guild_id"] = g.ID
	d.Emit(g, "GUILD_MEMBER_UPDATE", w)
}
