// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"

	"github.com/bwmarrin/discordgo"
)

// CurrentUser returns the bot's own user.
func (c *Client) CurrentUser(ctx context.Context) (User, error) {
	return result[User](ctx, c, get("get current user", "/users/@me", discordgo.EndpointUser("@me")), nil)
}

// CurrentApplication returns the application that the bot belongs to.
func (c *Client) CurrentApplication(ctx context.Context) (Application, error) {
	cl := get("get current application", "/applications/@me", discordgo.EndpointApplication("@me"))
	return result[Application](ctx, c, cl, nil)
}

// CurrentGuilds returns the guilds of the bot, at most the oldest 200.
func (c *Client) CurrentGuilds(ctx context.Context) ([]GuildName, error) {
	cl := get("list the bot's guilds", "/users/@me/guilds", discordgo.EndpointUserGuilds("@me"))
	return result[[]GuildName](ctx, c, cl, nil)
}

// GatewayStart returns the Gateway's address and how many sessions may still be started.
func (c *Client) GatewayStart(ctx context.Context) (discordgo.GatewayBotResponse, error) {
	cl := get("look up the Gateway", routeGateway, discordgo.EndpointGatewayBot)
	return result[discordgo.GatewayBotResponse](ctx, c, cl, nil)
}
