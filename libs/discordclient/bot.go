// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"slices"

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

// membershipPage is the largest page that Discord gives.
const membershipPage = 200

// ListMemberships returns which guilds the bot is in and what it may do there.
func (c *Client) ListMemberships(ctx context.Context) ([]Membership, error) {
	var all []Membership
	after := "0"
	for {
		endpoint := discordgo.EndpointUserGuilds("@me") + "?limit=200&after=" + after
		page, err := result[[]Membership](ctx, c, get("list guilds of the bot", "/users/@me/guilds", endpoint), nil)
		if err != nil {
			return nil, err
		}
		last := after
		for _, m := range page {
			if CompareIDs(m.ID, last) > 0 {
				last = m.ID
			}
		}
		all = append(all, slices.DeleteFunc(page, func(m Membership) bool { return m.ID == "" })...)
		if last == after || len(page) < membershipPage { // a page that does not go on would be read for ever
			return all, nil
		}
		after = last
	}
}

// GatewayStart returns where the Gateway is and how many sessions may still be started.
func (c *Client) GatewayStart(ctx context.Context) (discordgo.GatewayBotResponse, error) {
	cl := get("look up the Gateway", routeGateway, discordgo.EndpointGatewayBot)
	return result[discordgo.GatewayBotResponse](ctx, c, cl, nil)
}
