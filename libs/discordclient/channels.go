// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"
)

func channelID(c *Channel) string { return c.ID }

// ListChannels returns all channels and categories of a guild in the order of their ids.
func (c *Client) ListChannels(ctx context.Context, guildID string) ([]*Channel, error) {
	var list []*Channel
	cl := get("list channels", "/guilds/{guild_id}/channels", discordgo.EndpointGuildChannels(guildID))
	if err := c.do(ctx, cl, nil, &list, guildID); err != nil {
		return nil, err
	}
	return GuildChannels(list, guildID), nil
}

// GetChannel returns a channel.
func (c *Client) GetChannel(ctx context.Context, id string) (*Channel, error) {
	return object(ctx, c, get("get channel", "/channels/{channel_id}", discordgo.EndpointChannel(id)), nil, channelID, id)
}

// CreateChannel cannot be repeated: after ClassUnknown ask package recovery first.
func (c *Client) CreateChannel(ctx context.Context, guildID string, in ChannelCreate, reason string) (*Channel, error) {
	return object(ctx, c, createChannel(guildID, reason), in, channelID, guildID)
}

func createChannel(guildID, reason string) call {
	return call{
		op: "create channel", method: http.MethodPost, route: "/guilds/{guild_id}/channels",
		url: discordgo.EndpointGuildChannels(guildID), reason: reason,
	}
}

// EditChannel changes fields of a channel.
func (c *Client) EditChannel(ctx context.Context, id string, edit ChannelEdit, reason string) (*Channel, error) {
	if list, ok := edit.Overwrites.Get(); ok && list == nil {
		edit.Overwrites = Set([]Overwrite{}) // an empty list, not null: null would leave them alone
	}
	edit.ParentID = orNull(edit.ParentID)
	return object(ctx, c, call{
		op: "edit channel", method: http.MethodPatch, route: "/channels/{channel_id}",
		url: discordgo.EndpointChannel(id), hidden: edit.hidden(), reason: reason,
	}, edit, channelID, id)
}

// DeleteChannel deletes a channel; children of a category are then in none.
func (c *Client) DeleteChannel(ctx context.Context, id, reason string) error {
	return c.do(ctx, call{
		op: "delete channel", method: http.MethodDelete, route: "/channels/{channel_id}",
		url: discordgo.EndpointChannel(id), reason: reason,
	}, nil, nil, id)
}

// MoveChannels changes positions of many channels, and the parent of one, in one request. It takes
// no reason for the audit log.
func (c *Client) MoveChannels(ctx context.Context, guildID string, moves []ChannelMove) error {
	const op = "move channels"
	parents := 0
	moves = slices.Clone(moves)
	for i := range moves {
		moves[i].ParentID = orNull(moves[i].ParentID)
		if !moves[i].ParentID.IsZero() {
			parents++
		}
	}
	switch {
	case len(moves) == 0:
		return nil
	case parents > 1:
		return unsent(op, "one request may move one channel to another parent; split it")
	}
	return c.do(ctx, call{
		op: op, method: http.MethodPatch, route: "/guilds/{guild_id}/channels",
		url: discordgo.EndpointGuildChannels(guildID),
	}, moves, nil, guildID)
}
