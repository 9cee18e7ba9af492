// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"

	"github.com/bwmarrin/discordgo"
)

// CurrentUser returns the bot's own user.
func (c *Client) CurrentUser(ctx context.Context) (u User, err error) {
	err = c.do(ctx, get("get current user", "/users/@me", discordgo.EndpointUser("@me")), nil, &u)
	return u, err
}

// CurrentApplication returns the application that the bot belongs to.
func (c *Client) CurrentApplication(ctx context.Context) (a Application, err error) {
	err = c.do(ctx, get("get current application", "/applications/@me", discordgo.EndpointApplication("@me")), nil, &a)
	return a, err
}

// membershipPage is the largest page that Discord gives.
const membershipPage = 200

// ListMemberships returns which guilds the bot is in and what it may do there.
func (c *Client) ListMemberships(ctx context.Context) ([]Membership, error) {
	var all []Membership
	after := "0"
	for {
		var page []Membership
		endpoint := discordgo.EndpointUserGuilds("@me") + "?limit=200&after=" + after
		if err := c.do(ctx, get("list guilds of the bot", "/users/@me/guilds", endpoint), nil, &page); err != nil {
			return nil, err
		}
		last := after
		for _, m := range page {
			if m.ID == "" {
				continue
			}
			all = append(all, m)
			if CompareIDs(m.ID, last) > 0 {
				last = m.ID
			}
		}
		if last == after || len(page) < membershipPage { // a page that does not go on would be read for ever
			return all, nil
		}
		after = last
	}
}

// GatewayStart returns where the Gateway is and how many sessions may still be started.
func (c *Client) GatewayStart(ctx context.Context) (start discordgo.GatewayBotResponse, err error) {
	err = c.do(ctx, get("look up the Gateway", routeGateway, discordgo.EndpointGatewayBot), nil, &start)
	return start, err
}
