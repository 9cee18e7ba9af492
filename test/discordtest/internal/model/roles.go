// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
)

// Role is a role of a guild. The id of the role @everyone is the guild's id.
type Role struct {
	ID, Name    string
	Permissions Permissions
	Position    int
	// Color 0 means no colour. A role with only Secondary has a gradient. A role with Secondary and
	// Tertiary is holographic.
	Color               int
	Secondary, Tertiary *int
	Hoist, Mentionable  bool
	// Managed marks a role of a bot or an integration, Booster the role of members who boost.
	Managed, Booster bool
	BotID            string // user id of the bot that the role belongs to; empty for none
}

// Wire returns the role in Discord's JSON.
func (r *Role) Wire() map[string]any {
	w := map[string]any{
		"id": r.ID, "name": r.Name, "permissions": r.Permissions, "position": r.Position, "managed": r.Managed || r.Booster,
		"color": r.Color, "colors": map[string]any{
			"primary_color": r.Color, "secondary_color": r.Secondary, "tertiary_color": r.Tertiary,
		},
		"hoist": r.Hoist, "mentionable": r.Mentionable, "icon": nil, "unicode_emoji": nil, "flags": 0,
	}
	switch {
	case r.Booster:
		w["tags"] = map[string]any{"premium_subscriber": nil}
	case r.BotID != "":
		w["tags"] = map[string]any{"bot_id": r.BotID}
	}
	return w
}

// RankedRoles returns the roles, lowest first. At the same position, the older role is higher.
func (g *Guild) RankedRoles() []Role {
	return slices.SortedFunc(slices.Values(g.Roles), func(a, b Role) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), CompareIDs(b.ID, a.ID))
	})
}

// OutranksRole reports whether a member owns the guild or has a role above this role.
func (g *GuildState) OutranksRole(user, role string) bool {
	if g.OwnerID == user {
		return true
	}
	ranked := g.RankedRoles()
	rank := func(id string) int { return slices.IndexFunc(ranked, func(r Role) bool { return r.ID == id }) }
	return slices.ContainsFunc(g.Members[user].Roles, func(own string) bool { return rank(own) > rank(role) })
}

// AddRole creates a role above all other roles of a guild and returns its id.
func (d *Discord) AddRole(g *GuildState, r Role) string {
	for _, other := range g.Roles {
		r.Position = max(r.Position, other.Position+1)
	}
	return d.InsertRole(g, r)
}

// InsertRole creates a role at r.Position and returns its id. Other roles keep their positions.
func (d *Discord) InsertRole(g *GuildState, r Role) string {
	r.ID = d.NewID()
	g.Roles = append(g.Roles, r)
	d.Emit(g, "GUILD_ROLE_CREATE", map[string]any{"guild_id": g.ID, "role": r.Wire()})
	d.OnChange()
	return r.ID
}

// ReplaceRole changes a role, with an audit log entry and GUILD_ROLE_UPDATE.
func (d *Discord) ReplaceRole(g *GuildState, after Role, user, reason string) {
	r := g.Role(after.ID)
	before, now := r.Wire(), after.Wire()
	var changes []Change
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if !reflect.DeepEqual(before[key], now[key]) {
			changes = append(changes, Change{Key: key, Old: before[key], New: now[key]})
		}
	}
	if len(changes) == 0 {
		return
	}
	*r = after
	d.Log(g, AuditEntry{Action: AuditRoleUpdate, UserID: user, TargetID: r.ID, Reason: reason, Changes: changes})
	d.Emit(g, "GUILD_ROLE_UPDATE", map[string]any{"guild_id": g.ID, "role": r.Wire()})
	d.OnChange()
}

// RemoveRole deletes a role, also from overwrites and members. The order of the events is a guess.
func (d *Discord) RemoveRole(g *GuildState, role string) {
	g.Roles = slices.DeleteFunc(slices.Clone(g.Roles), func(r Role) bool { return r.ID == role })
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
	d.OnChange()
}
