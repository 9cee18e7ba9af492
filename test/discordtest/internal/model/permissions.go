// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Permissions is a set of permission bits. In JSON it is a decimal string.
type Permissions uint64

// Permission bits of the simulator. Source: Discord's documentation, "Permissions".
const (
	PermAdministrator      Permissions = 1 << 3
	PermManageChannels     Permissions = 1 << 4
	PermManageGuild        Permissions = 1 << 5
	PermViewAuditLog       Permissions = 1 << 7
	PermViewChannel        Permissions = 1 << 10
	PermSendMessages       Permissions = 1 << 11
	PermManageMessages     Permissions = 1 << 13
	PermReadMessageHistory Permissions = 1 << 16
	PermConnect            Permissions = 1 << 20
	PermManageRoles        Permissions = 1 << 28
	PermManageWebhooks     Permissions = 1 << 29

	// PermAll has bits 0 to 52, even undefined ones. Guild owners and administrators have it.
	PermAll Permissions = 1<<53 - 1
	// permDefault lets @everyone view channels, read and write messages, invite and speak.
	permDefault Permissions = PermViewChannel | PermSendMessages | PermReadMessageHistory |
		PermConnect | 1<<0 | 1<<6 | 1<<14 | 1<<15 | 1<<21
	// PermElevated needs two-factor authentication of the bot's owner in a guild with MFALevel 1.
	PermElevated = PermAdministrator | PermManageChannels | PermManageGuild | PermManageMessages | PermManageRoles |
		PermManageWebhooks | 1<<1 | 1<<2
)

// Has reports whether p has all bits of want.
func (p Permissions) Has(want Permissions) bool { return p&want == want }

// MarshalJSON encodes the bits as a decimal string, as Discord does.
func (p Permissions) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatUint(uint64(p), 10))
}

// GuildPermissions returns a member's permissions without channel overwrites, or 0 for other users.
func (g *GuildState) GuildPermissions(user string) Permissions {
	m := g.Members[user]
	if m == nil {
		return 0
	}
	if g.OwnerID == user {
		return PermAll
	}
	p := g.Role(g.ID).Permissions
	for _, id := range m.Roles {
		if r := g.Role(id); r != nil {
			p |= r.Permissions
		}
	}
	if p.Has(PermAdministrator) {
		return PermAll
	}
	return p
}

// PermissionsIn returns a member's permissions in a channel. Unless OverwritesInOrder is set,
// overwrites apply in this order: of @everyone, of the member's roles together, of the member.
// Without VIEW_CHANNEL, the member has no permissions. Without CONNECT in a voice channel,
// Discord removes MANAGE_CHANNELS "and others" ("Implicit Permissions"). It is a guess that these
// are MANAGE_ROLES and MANAGE_WEBHOOKS.
func (g *GuildState) PermissionsIn(c *Channel, user string) Permissions {
	p := g.GuildPermissions(user)
	if p == PermAll || p == 0 {
		return p
	}
	p = g.overwritten(p, c.Overwrites, user)
	if !p.Has(PermViewChannel) {
		return 0
	}
	if VoiceLike(c.Type) && !p.Has(PermConnect) {
		p &^= PermManageChannels | PermManageRoles | PermManageWebhooks
	}
	return p
}

func (g *GuildState) overwritten(p Permissions, list []Overwrite, user string) Permissions {
	var roleAllow, roleDeny, ownAllow, ownDeny Permissions
	for _, o := range list {
		applies := o.ID == g.ID || o.ID == user || slices.Contains(g.Members[user].Roles, o.ID)
		switch {
		case g.OverwritesInOrder && applies:
			p = p&^o.Deny | o.Allow
		case g.OverwritesInOrder:
		case o.ID == g.ID:
			p = p&^o.Deny | o.Allow
		case o.Type == 0 && slices.Contains(g.Members[user].Roles, o.ID):
			roleAllow, roleDeny = roleAllow|o.Allow, roleDeny|o.Deny
		case o.Type == 1 && o.ID == user:
			ownAllow, ownDeny = o.Allow, o.Deny
		}
	}
	p = p&^roleDeny | roleAllow
	return p&^ownDeny | ownAllow
}
