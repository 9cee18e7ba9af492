// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// CheckID returns an error unless an id is a snowflake.
func CheckID(key, id string) error {
	if !model.IsSnowflake(id) {
		return Invalid(key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", id))
	}
	return nil
}

// Guild returns the guild in the path. A bot that is not a member gets 10004 (Unknown Guild).
func (c *Call) Guild() (*model.GuildState, error) {
	g := c.Discord.Guilds[c.Path("guild_id")]
	if g == nil || g.Members[c.Bot.UserID] == nil {
		return nil, errUnknownGuild
	}
	return g, nil
}

// GuildWith is [Call.Guild] with an error if the bot lacks permissions in the guild.
func (c *Call) GuildWith(p model.Permissions) (*model.GuildState, error) {
	g, err := c.Guild()
	if err != nil {
		return nil, err
	}
	return g, c.May(g, g.GuildPermissions(c.Bot.UserID), p)
}

// Channel returns the channel in the path, or error 50001 if the bot may not view the channel.
func (c *Call) Channel() (*model.GuildState, *model.Channel, error) {
	id := c.Path("channel_id")
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

func (c *Call) mayLag() bool {
	return c.Request.Method == http.MethodGet || c.Request.Method == http.MethodPatch
}

// ChannelWith is [Call.Channel] with an error if the bot lacks permissions in the channel.
func (c *Call) ChannelWith(p model.Permissions) (*model.GuildState, *model.Channel, error) {
	g, ch, err := c.Channel()
	if err != nil {
		return nil, nil, err
	}
	return g, ch, c.May(g, g.PermissionsIn(ch, c.Bot.UserID), p)
}

// May returns an error if a permission of `want` is not in `have`, or if the guild requires
// two-factor authentication for `want` and the bot's owner does not use it.
func (c *Call) May(g *model.GuildState, have, want model.Permissions) error {
	if !have.Has(want) {
		return ErrPermissions
	}
	if want&model.PermElevated != 0 && g.MFALevel == 1 && c.Bot.OwnerWithout2FA {
		return errTwoFactor
	}
	return nil
}

// Webhook returns the webhook in the path. A bot may read webhooks of its own application. Other
// reads and all changes need MANAGE_WEBHOOKS in the webhook's channel.
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
	// A stale read can find a webhook of a deleted channel, so `in` can be nil.
	if in := g.Channels[w.ChannelID]; in != nil {
		have = g.PermissionsIn(in, c.Bot.UserID)
	}
	return g, w, c.May(g, have, model.PermManageWebhooks)
}

// WebhookByToken returns the webhook with the id and the token in the path.
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
