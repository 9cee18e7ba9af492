// SPDX-License-Identifier: Apache-2.0

package model

// FlagObfuscated marks a channel that a bot may not view. The Gateway then sends only the channel's
// id, type and position (CHANNEL_OBFUSCATED, for all bots since 16 November 2026).
const FlagObfuscated = 1 << 17

const obfuscatedName = "___hidden___"

// Sees reports whether a user may view a channel. The user needs VIEW_CHANNEL in the channel. For a
// category, VIEW_CHANNEL in one of its children also suffices. (On Discord, a user who is connected
// to a voice channel also sees it; voice is not simulated.)
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

// Hides reports whether Discord hides a channel's content from a bot.
func (d *Discord) Hides(g *GuildState, c *Channel, user string) bool {
	return !d.opts.ShowHidden && !g.Sees(c, user)
}

// Obfuscated returns the channel in Discord's JSON for a bot that may not view it. The id, type and
// position are real. The name, the flag and the overwrite have the documented values. Discord
// documents the other fields only as "null or reduced". They are empty here, and no other flag is
// set: both are guesses.
func (c *Channel) Obfuscated() map[string]any {
	hidden := Channel{
		ID: c.ID, GuildID: c.GuildID, Type: c.Type, Position: c.Position, Flags: FlagObfuscated, Name: obfuscatedName,
		Overwrites: []Overwrite{{ID: c.GuildID, Deny: PermViewChannel}},
	}
	return hidden.Wire()
}
