// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/bwmarrin/discordgo"
)

// The calls that Discord withdrew from bots in July 2025 (ClassDenied). They are kept as a path for
// compatible servers.

// GuildCreate describes a new guild.
type GuildCreate struct {
	Name string `json:"name"` // 2 to 100 characters
}

// CreateGuild cannot be repeated.
func (c *Client) CreateGuild(ctx context.Context, in GuildCreate) (Guild, error) {
	guild, err := orZero(object(ctx, c, call{
		op: "create guild", method: http.MethodPost, route: "/guilds", url: discordgo.EndpointGuildCreate,
	}, in, guildID))
	return guild, withdrawn(err)
}

// DeleteGuild deletes a guild that the bot owns.
func (c *Client) DeleteGuild(ctx context.Context, id string) error {
	return withdrawn(c.do(ctx, call{
		op: "delete guild", method: http.MethodDelete, route: "/guilds/{guild_id}",
		url: discordgo.EndpointGuild(id),
	}, nil, nil, id))
}

// withdrawn corrects the class of an error of a route that is gone from Discord: it may be answered
// as if it had never been there (404 or 405 without a code), which is a refusal to bots and not a
// mistake in the request.
func withdrawn(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassInvalid && e.Code == 0 && !e.unsent {
		e.Class = ClassDenied
	}
	return err
}
