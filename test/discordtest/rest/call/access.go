// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// Guild finds the guild of the path. For a bot that is no member it does not exist.
func (c *Call) Guild() (*model.GuildState, error) {
	g := c.Discord.Guilds[c.Path("guild_id")]
	switch {
	case !model.IsSnowflake(c.Path("guild_id")):
		return nil, Invalid("guild_id", "NUMBER_TYPE_COERCE", "Value \""+c.Path("guild_id")+"\" is not snowflake.")
	case g == nil || g.Members[c.Bot.UserID] == nil:
		return nil, errUnknownGuild
	}
	return g, nil
}

// GuildWith is Guild for a route that needs permissions in it.
func (c *Call) GuildWith(p model.Permissions) (*model.GuildState, error) {
	g, err := c.Guild()
	if err != nil {
		return nil, err
	}
	return g, c.May(g, g.GuildPermissions(c.Bot.UserID), p)
}

// Channel finds the channel of the path. A channel that the bot may not view exists (50001): denied
// is not gone. A read or an edit may not find yet what is there.
func (c *Call) Channel() (*model.GuildState, *model.Channel, error) {
	id := c.Path("channel_id")
	if !model.IsSnowflake(id) {
		return nil, nil, Invalid("channel_id", "NUMBER_TYPE_COERCE", "Value \""+id+"\" is not snowflake.")
	}
	g, ch := c.Discord.FindChannel(id)
	if c.mayLag() {
		was, read := c.Discord.ReadChannel(id, c.Stale)
		if read == nil || c.Request.Method == http.MethodGet {
			g, ch = was, read
		}
	}
	switch {
	case ch == nil:
		return nil, nil, ErrUnknownChannel
	case !g.Sees(ch, c.Bot.UserID):
		return nil, nil, ErrMissingAccess
	}
	return g, ch, nil
}

// mayLag says whether the call may find things as they were before: reads and edits do, creates and
// deletions do not.
func (c *Call) mayLag() bool {
	return c.Request.Method == http.MethodGet || c.Request.Method == http.MethodPatch
}

// ChannelWith is Channel for a route that needs permissions in it.
func (c *Call) ChannelWith(p model.Permissions) (*model.GuildState, *model.Channel, error) {
	g, ch, err := c.Channel()
	if err != nil {
		return nil, nil, err
	}
	return g, ch, c.May(g, g.PermissionsIn(ch, c.Bot.UserID), p)
}

// May refuses what is not permitted, and what is permitted only with two-factor authentication.
func (c *Call) May(g *model.GuildState, have, want model.Permissions) error {
	if !have.Has(want) {
		return ErrPermissions
	}
	if want&model.PermElevated != 0 && g.MFALevel == 1 && c.Bot.OwnerWithout2FA {
		return errTwoFactor
	}
	return nil
}

// Webhook finds the webhook of the path for a bot: its own application's, or with MANAGE_WEBHOOKS
// in the channel. To read its own a bot needs no permission; to change it, it does.
func (c *Call) Webhook(change bool) (*model.GuildState, *model.Webhook, error) {
	id := c.Path("webhook_id")
	g, w := c.Discord.FindWebhook(id)
	if c.mayLag() {
		was, read := c.Discord.ReadWebhook(id, c.Stale)
		if read == nil || c.Request.Method == http.MethodGet {
			g, w = was, read
		}
	}
	if w == nil {
		return nil, nil, errUnknownWebhook
	}
	if !change && w.ApplicationID == c.Bot.ApplicationID {
		return g, w, nil
	}
	have := g.GuildPermissions(c.Bot.UserID)
	if in := g.Channels[w.ChannelID]; in != nil { // a stale read finds webhooks of channels that are gone
		have = g.PermissionsIn(in, c.Bot.UserID)
	}
	return g, w, c.May(g, have, model.PermManageWebhooks)
}

// WebhookByToken finds the one of the path by its secret.
func (c *Call) WebhookByToken() (*model.GuildState, *model.Webhook, error) {
	g, w := c.Discord.FindWebhook(c.Path("webhook_id"))
	switch {
	case w == nil:
		return nil, nil, errUnknownWebhook
	case w.Token != c.Path("webhook_token"):
		return nil, nil, errWebhookToken
	}
	return g, w, nil
}
