// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Edit is PATCH /channels/{channel_id}.
func Edit(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermManageChannels)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	after := ch.Clone()
	if err := readFields(c, f, g, &after, false); err != nil {
		return 0, nil, err
	}
	if c.Options.Compatible {
		after.NSFW, after.RateLimitPerUser = ch.NSFW, ch.RateLimitPerUser
	}
	have := g.PermissionsIn(ch, c.Bot.UserID)
	if f.Has("permission_overwrites") {
		if err := c.May(g, have, model.PermManageRoles); err != nil {
			return 0, nil, err
		}
		if err := readOverwrites(c, f, g, &after, have|g.GuildPermissions(c.Bot.UserID)); err != nil {
			return 0, nil, err
		}
		if err := mayHide(g, ch.ID, after.Overwrites); err != nil {
			return 0, nil, err
		}
	}
	if err := mayMove(c, g, ch, &after); err != nil {
		return 0, nil, err
	}
	if err := mayRetype(g, ch, &after); err != nil {
		return 0, nil, err
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	if err := hiddenLimit(c, ch, &after); err != nil {
		return 0, nil, err
	}
	c.Discord.IdentifyTags(&after)
	c.Discord.LogUpdate(g, c.Bot.UserID, ch, &after, reason)
	c.Discord.ReplaceChannel(g, ch, after)
	return http.StatusOK, answer(c, ch), nil
}

func mayRetype(g *model.GuildState, ch, after *model.Channel) error {
	if after.Type != ch.Type && g.Required(ch.ID) {
		return call.ErrCommunityText
	}
	return nil
}
