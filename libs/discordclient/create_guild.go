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

// CreateGuild cannot be repeated. The name has 2 to 100 characters.
func (c *Client) CreateGuild(ctx context.Context, name string) (Guild, error) {
	cl := write(http.MethodPost, "create guild", "/guilds", discordgo.EndpointGuildCreate, "")
	guild, err := result[Guild](ctx, c, cl, map[string]string{"name": name})
	return guild, withdrawn(err)
}

// DeleteGuild deletes a guild that the bot owns.
func (c *Client) DeleteGuild(ctx context.Context, id string) error {
	cl := write(http.MethodDelete, "delete guild", "/guilds/{guild_id}", discordgo.EndpointGuild(id), "")
	return withdrawn(c.do(ctx, cl, nil, nil, id))
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
