// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
)

// ReplaceChannel changes a channel. If the channel is a category, its synced channels, which had
// the category's former overwrites, get the new overwrites too.
func (d *Discord) ReplaceChannel(g *GuildState, ch *Channel, after Channel) {
	before := ch.Clone()
	*ch = after
	wrote(d, g.channelLags, ch.ID, &before)
	d.Emit(g, "CHANNEL_UPDATE", ch.Wire())
	if ch.Type == TypeCategory && !SameOverwrites(before.Overwrites, ch.Overwrites) {
		for _, child := range g.Children(ch.ID) {
			if SameOverwrites(child.Overwrites, before.Overwrites) {
				was := child.Clone()
				child.Overwrites = after.Clone().Overwrites
				wrote(d, g.channelLags, child.ID, &was)
				d.Emit(g, "CHANNEL_UPDATE", child.Wire())
			}
		}
	}
	d.OnChange()
}

// IdentifyTags gives an id to each tag without one.
func (d *Discord) IdentifyTags(ch *Channel) {
	for i := range ch.Tags {
		if ch.Tags[i].ID == "" {
			ch.Tags[i].ID = d.NewID()
		}
	}
}

// InsertChannel adds a channel to a guild. It gives ids to the channel and its tags.
func (d *Discord) InsertChannel(g *GuildState, ch *Channel) {
	ch.ID = d.NewID()
	d.IdentifyTags(ch)
	g.Channels[ch.ID] = ch
	wrote(d, g.channelLags, ch.ID, nil)
	d.Emit(g, "CHANNEL_CREATE", ch.Wire())
	d.OnChange()
}

// Bottom returns the position below all siblings of the same displayRank, as observed on Discord.
func (g *GuildState) Bottom(ch *Channel) int {
	at := 0
	for _, other := range g.Children(ch.ParentID) {
		if displayRank(other) == displayRank(ch) {
			at = max(at, other.Position+1)
		}
	}
	return at
}

// Required reports whether the channel is a Community guild's required rules or updates channel.
func (g *GuildState) Required(id string) bool {
	return g.Feature("COMMUNITY") && (id == g.RulesChannelID || id == g.PublicUpdatesChannelID)
}

// RemoveChannel deletes a channel with its webhooks and messages, and removes its id from guild
// settings. The channels of a deleted category lose their parent_id, but keep their positions.
func (d *Discord) RemoveChannel(g *GuildState, ch *Channel) {
	delete(g.Channels, ch.ID)
	was := ch.Clone()
	wrote(d, g.channelLags, ch.ID, &was)
	d.Emit(g, "CHANNEL_DELETE", ch.Wire())
	for _, child := range g.Children(ch.ID) {
		before := child.Clone()
		child.ParentID = ""
		wrote(d, g.channelLags, child.ID, &before)
		d.Emit(g, "CHANNEL_UPDATE", child.Wire())
	}
	had := len(g.Webhooks)
	for id, w := range g.Webhooks {
		if w.ChannelID == ch.ID {
			delete(g.Webhooks, id)
			d.WroteWebhook(g, id, w)
		}
	}
	if len(g.Webhooks) != had {
		d.Emit(g, "WEBHOOKS_UPDATE", map[string]any{"guild_id": g.ID, "channel_id": ch.ID})
	}
	delete(g.Messages, ch.ID)
	named := []*string{
		&g.SystemChannelID, &g.AFKChannelID, &g.WidgetChannelID, &g.SafetyAlertsChannelID, &g.RulesChannelID,
		&g.PublicUpdatesChannelID,
	}
	if slices.ContainsFunc(named, func(id *string) bool { return *id == ch.ID }) {
		for _, id := range named {
			if *id == ch.ID {
				*id = ""
			}
		}
		d.Emit(g, "GUILD_UPDATE", g.Wire())
	}
	d.OnChange()
}

// SameOverwrites reports whether two lists have the same overwrites in any order.
func SameOverwrites(a, b []Overwrite) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(o Overwrite) bool { return !slices.Contains(b, o) })
}
