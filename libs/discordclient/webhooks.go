// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/bwmarrin/discordgo"
)

// withURL sets the webhook's URL. It uses the configured API address, because a response could name
// another host.
func (c *Client) withURL(hook Webhook) Webhook {
	if !hook.Token.IsZero() {
		path := url.PathEscape(hook.ID) + "/" + url.PathEscape(hook.Token.Reveal())
		hook.URL = NewSecret(c.webhookBase + "/webhooks/" + path)
	}
	return hook
}

func (c *Client) webhook(ctx context.Context, cl call, in any, id string) (Webhook, error) {
	hook, err := result[Webhook](ctx, c, cl, in, id)
	return c.withURL(hook), err
}

func (c *Client) webhooks(ctx context.Context, cl call, id string) ([]Webhook, error) {
	hooks, err := result[[]Webhook](ctx, c, cl, nil, id)
	hooks = slices.DeleteFunc(hooks, func(w Webhook) bool { return w.ID == "" })
	for i := range hooks {
		hooks[i] = c.withURL(hooks[i])
	}
	return hooks, err
}

// CreateWebhook creates a webhook. Its name has 1 to 80 characters, without "discord" and "clyde".
// After ClassUnknown, look for it in the channel's list and in the audit log.
func (c *Client) CreateWebhook(ctx context.Context, channelID, name, reason string) (Webhook, error) {
	endpoint := discordgo.EndpointChannelWebhooks(channelID)
	cl := write(http.MethodPost, "create webhook", "/channels/{channel_id}/webhooks", endpoint, reason)
	return c.webhook(ctx, cl, map[string]string{"name": name}, channelID)
}

// GetWebhook returns a webhook. For a webhook of its own application, the bot needs no permission.
func (c *Client) GetWebhook(ctx context.Context, id string) (Webhook, error) {
	return c.webhook(ctx, get("get webhook", "/webhooks/{webhook_id}", discordgo.EndpointWebhook(id)), nil, id)
}

// ListChannelWebhooks returns the webhooks of a channel.
func (c *Client) ListChannelWebhooks(ctx context.Context, channelID string) ([]Webhook, error) {
	endpoint := discordgo.EndpointChannelWebhooks(channelID)
	return c.webhooks(ctx, get("list webhooks", "/channels/{channel_id}/webhooks", endpoint), channelID)
}

// ListGuildWebhooks returns the webhooks of all channels of a guild.
func (c *Client) ListGuildWebhooks(ctx context.Context, guildID string) ([]Webhook, error) {
	endpoint := discordgo.EndpointGuildWebhooks(guildID)
	return c.webhooks(ctx, get("list webhooks of guild", "/guilds/{guild_id}/webhooks", endpoint), guildID)
}

// RenameWebhook changes the name of a webhook.
func (c *Client) RenameWebhook(ctx context.Context, id, name, reason string) (Webhook, error) {
	cl := write(http.MethodPatch, "edit webhook", "/webhooks/{webhook_id}", discordgo.EndpointWebhook(id), reason)
	return c.webhook(ctx, cl, map[string]string{"name": name}, id)
}

// DeleteWebhook deletes a webhook. Its URL stops working.
func (c *Client) DeleteWebhook(ctx context.Context, id, reason string) error {
	cl := write(http.MethodDelete, "delete webhook", "/webhooks/{webhook_id}", discordgo.EndpointWebhook(id), reason)
	return c.do(ctx, cl, nil, nil, id)
}
