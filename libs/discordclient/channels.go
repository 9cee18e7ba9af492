// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"
)

// ListChannels returns the channels and categories of a guild, ordered by id. Discord omits
// channels that the bot may not view.
func (c *Client) ListChannels(ctx context.Context, guildID string) ([]*Channel, error) {
	cl := get("list channels", "/guilds/{guild_id}/channels", discordgo.EndpointGuildChannels(guildID))
	list, err := result[[]*Channel](ctx, c, cl, nil, guildID)
	return GuildChannels(list, guildID), err
}

// GetChannel returns a channel.
func (c *Client) GetChannel(ctx context.Context, id string) (*Channel, error) {
	return result[*Channel](ctx, c, get("get channel", "/channels/{channel_id}", discordgo.EndpointChannel(id)), nil, id)
}

// CreateChannel creates a channel. After ClassUnknown, look for it with package recovery.
func (c *Client) CreateChannel(ctx context.Context, guildID string, in ChannelCreate, reason string) (*Channel, error) {
	in.Overwrites = inApplyOrder(in.Overwrites)
	return result[*Channel](ctx, c, createChannel(guildID, reason), in, guildID)
}

func createChannel(guildID, reason string) call {
	endpoint := discordgo.EndpointGuildChannels(guildID)
	return write(http.MethodPost, "create channel", "/guilds/{guild_id}/channels", endpoint, reason)
}

// EditChannel changes fields of a channel.
func (c *Client) EditChannel(ctx context.Context, id string, edit ChannelEdit, reason string) (*Channel, error) {
	cl := write(http.MethodPatch, "edit channel", "/channels/{channel_id}", discordgo.EndpointChannel(id), reason)
	cl.hidden = edit.hidden()
	if list, ok := edit.Overwrites.Get(); ok {
		edit.Overwrites = Set(inApplyOrder(list))
	}
	return result[*Channel](ctx, c, cl, edit, id)
}

// inApplyOrder sorts overwrites as Discord applies them: @everyone, roles, users.
// Discord-compatible servers apply them in the order of the request, so a deny for @everyone at
// the end would lock the bot out. Source: https://github.com/spacebarchat/server,
// Permissions.channelPermission.
func inApplyOrder(list []Overwrite) []Overwrite {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b Overwrite) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), CompareIDs(a.ID, b.ID))
	})
	return sorted
}

// DeleteChannel deletes a channel. The channels of a deleted category remain, without a category.
func (c *Client) DeleteChannel(ctx context.Context, id, reason string) error {
	cl := write(http.MethodDelete, "delete channel", "/channels/{channel_id}", discordgo.EndpointChannel(id), reason)
	return c.do(ctx, cl, nil, nil, id)
}

// MoveChannels changes the positions of channels. This call has no audit log reason.
func (c *Client) MoveChannels(ctx context.Context, guildID string, moves []Move) error {
	if len(moves) == 0 {
		return nil
	}
	endpoint := discordgo.EndpointGuildChannels(guildID)
	cl := write(http.MethodPatch, "move channels", "/guilds/{guild_id}/channels", endpoint, "")
	return c.do(ctx, cl, moves, nil, guildID)
}
