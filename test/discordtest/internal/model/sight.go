// SPDX-License-Identifier: Apache-2.0

package model

// FlagObfuscated marks a channel that a bot may not view: the Gateway sends only its id, type and
// position (CHANNEL_OBFUSCATED, for all bots since 16 November 2026).
const FlagObfuscated = 1 << 17

const obfuscatedName = "___hidden___"

// Sees reports whether a user may view a channel: with VIEW_CHANNEL in
// the channel or, for a category, in one of its children. (On Discord,
// being connected to its voice is enough too; voice is not simulated.)
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

// Hides reports whether a bot may only learn that a channel exists.
func (d *Discord) Hides(g *GuildState, c *Channel, user string) bool {
	return !d.opts.ShowHidden && !g.Sees(c, user)
}

// Obfuscated returns the channel in Discord's JSON for a bot that may not view it. The id, type and
// position are real. The name, flags and overwrites are as documented. The rest is empty
// (documented as "null or reduced"; a null parent_id and the loss of other flags are guesses).
func (c *Channel) Obfuscated() map[string]any {
	hidden := Channel{
		ID: c.ID, GuildID: c.GuildID, Type: c.Type, Position: c.Position, Flags: FlagObfuscated, Name: obfuscatedName,
		Overwrites: []Overwrite{{ID: c.GuildID, Deny: PermViewChannel}},
	}
	return hidden.Wire()
}
