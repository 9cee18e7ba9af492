// SPDX-License-Identifier: Apache-2.0

package model

// FlagObfuscated marks a channel that a bot may not view: CHANNEL_OBFUSCATED. Only id, type and
// position are real. Discord has sent obfuscated channels since 16 November 2026.
const FlagObfuscated = 1 << 17

const obfuscatedName = "___hidden___"

// Sees reports whether a user has VIEW_CHANNEL in c or, if c is a category, in one of its channels.
// On Discord, users connected to a voice channel see it too. Connections are not simulated.
func (g *GuildState) Sees(c *Channel, user string) bool {
	if g.PermissionsIn(c, user).Has(PermViewChannel) {
		return true
	}
	if c.Type != TypeCategory {
		return false
	}
	for _, child := range g.Channels {
		if child.ParentID == c.ID && g.PermissionsIn(child, user).Has(PermViewChannel) {
			return true
		}
	}
	return false
}

// Hides reports whether the user may not view the channel, and Options.ShowHidden is false.
func (d *Discord) Hides(g *GuildState, c *Channel, user string) bool {
	return !d.opts.ShowHidden && !g.Sees(c, user)
}

// Obfuscated returns the channel for a bot that may not view it. Discord documents name, flag and
// overwrite, and calls other fields "null or reduced". It is a guess that these fields are empty,
// and that no other flag is set.
func (c *Channel) Obfuscated() map[string]any {
	hidden := Channel{
		ID: c.ID, GuildID: c.GuildID, Type: c.Type, Position: c.Position, Flags: FlagObfuscated, Name: obfuscatedName,
		Overwrites: []Overwrite{{ID: c.GuildID, Deny: PermViewChannel}},
	}
	return hidden.Wire()
}
