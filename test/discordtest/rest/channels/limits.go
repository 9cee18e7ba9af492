// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

func room(c *call.Call, g *model.GuildState, ch *model.Channel) error {
	l := c.Options.Limits
	if len(g.Channels) >= l.Channels+l.ChannelSlack {
		return call.LimitReached(30013, "guild channels", l.Channels)
	}
	if ch.Type == model.TypeCategory {
		n := 0
		for _, other := range g.Channels {
			if other.Type == model.TypeCategory {
				n++
			}
		}
		if n >= l.Categories {
			return call.LimitReached(30013, "guild channels", l.Categories)
		}
	}
	return roomIn(c, g, ch.ParentID)
}

func roomIn(c *call.Call, g *model.GuildState, parent string) error {
	if parent == "" || len(g.Children(parent)) < c.Options.Limits.ChannelsPerCategory {
		return nil
	}
	return call.Invalid("parent_id", "CHANNEL_PARENT_MAX_CHANNELS", "Maximum number of channels in category reached (50)")
}

// hiddenLimit limits edits of a channel's name or topic. No header shows the limit. A refused edit
// does not count. In a 2023 user report, the 429 has scope shared.
func hiddenLimit(c *call.Call, ch, after *model.Channel) error {
	rate := c.Options.Limits.NameTopic
	var keys []string
	if after.Name != ch.Name {
		keys = append(keys, "name/"+ch.ID)
	}
	if after.Topic != ch.Topic {
		keys = append(keys, "topic/"+ch.ID)
	}
	if len(keys) > 0 && !c.Options.Limits.NameAndTopicApart {
		keys = []string{"name or topic/" + ch.ID}
	}
	for _, key := range keys {
		if wait := c.Windows.Full(key, rate, c.Now); wait > 0 {
			return &call.TooMany{After: wait, Scope: "shared"}
		}
	}
	for _, key := range keys {
		c.Windows.Take(key, rate, c.Now)
	}
	return nil
}
