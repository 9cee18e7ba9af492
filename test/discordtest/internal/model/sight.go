// SPDX-License-Identifier: Apache-2.0

package model

// FlagObfuscated marks a channel of which the Gateway sends a bot no more than id, type and position,
// since the bot may not view it: CHANNEL_OBFUSCATED, for all bots since 16 November 2026.
const FlagObfuscated = 1 << 17

// obfuscatedName is what such a channel is called.
const obfuscatedName = "___hidden___"

// Sees says whether a user may view a channel: with VIEW_CHANNEL in it, or, when it is a category,
// in one of its channels. (On Discord it is enough to be connected to its voice: there is no voice
// here.)
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

// Hides says whether a bot learns no more of a channel than that it is there.
func (d *Discord) Hides(g *GuildState, c *Channel, user string) bool {
	return !d.opts.ShowHidden && !g.Sees(c, user)
}

// Obfuscated is the channel in Discord's JSON for a bot that may not view it: id, type and position
// are real, name, flags and overwrites as documented, the rest is empty (documented as "null or
// reduced"; that parent_id is null too, and that other flags go, are guesses).
func (c *Channel) Obfuscated() map[string]any {
	hidden := Channel{
		ID: c.ID, GuildID: c.GuildID, Type: c.Type, Position: c.Position, Flags: FlagObfuscated, Name: obfuscatedName,
		Overwrites: []Overwrite{{ID: c.GuildID, Deny: PermViewChannel}},
	}
	return hidden.Wire()
}
