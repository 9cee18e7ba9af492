// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/bwmarrin/discordgo"
)

// withURL gives a webhook its URL, which is made from the configured API address and not taken from
// the response, so that it cannot point anywhere else.
func (c *Client) withURL(hook Webhook) Webhook {
	if !hook.Token.IsZero() {
		path := url.PathEscape(hook.ID) + "/" + url.PathEscape(hook.Token.Reveal())
		hook.URL = NewSecret(c.webhookBase + "/webhooks/" + path)
	}
	return hook
}

// webhook makes a call that returns a webhook.
func (c *Client) webhook(ctx context.Context, cl call, in any, id string) (Webhook, error) {
	hook, err := orZero(object(ctx, c, cl, in, func(w *Webhook) string { return w.ID }, id))
	return c.withURL(hook), err
}

// webhooks makes a call that returns a list of webhooks.
func (c *Client) webhooks(ctx context.Context, cl call, id string) ([]Webhook, error) {
	var hooks []Webhook
	if err := c.do(ctx, cl, nil, &hooks, id); err != nil {
		return nil, err
	}
	hooks = slices.DeleteFunc(hooks, func(w Webhook) bool { return w.ID == "" })
	for i := range hooks {
		hooks[i] = c.withURL(hooks[i])
	}
	return hooks, nil
}

// CreateWebhook cannot be repeated: after ClassUnknown list those of the channel first, where it
// has its token.
func (c *Client) CreateWebhook(
	ctx context.Context, channelID string, in WebhookCreate, reason string,
) (Webhook, error) {
	return c.webhook(ctx, call{
		op: "create webhook", method: http.MethodPost, route: "/channels/{channel_id}/webhooks",
		url: discordgo.EndpointChannelWebhooks(channelID), reason: reason,
	}, in, channelID)
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

// EditWebhook changes a webhook.
func (c *Client) EditWebhook(ctx context.Context, id string, edit WebhookEdit, reason string) (Webhook, error) {
	return c.webhook(ctx, call{
		op: "edit webhook", method: http.MethodPatch, route: "/webhooks/{webhook_id}",
		url: discordgo.EndpointWebhook(id), reason: reason,
	}, edit, id)
}

// DeleteWebhook deletes a webhook; its URL works no more.
func (c *Client) DeleteWebhook(ctx context.Context, id, reason string) error {
	return c.do(ctx, call{
		op: "delete webhook", method: http.MethodDelete, route: "/webhooks/{webhook_id}",
		url: discordgo.EndpointWebhook(id), reason: reason,
	}, nil, nil, id)
}
