// SPDX-License-Identifier: Apache-2.0

// Package webhooks has the routes of webhooks, for bots and for clients with a webhook's token.
package webhooks

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Create is POST /channels/{channel_id}/webhooks.
func Create(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermManageWebhooks)
	if err != nil {
		return 0, nil, err
	}
	if ch.Type == model.TypeCategory {
		return 0, nil, call.ErrChannelType
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	w := &model.Webhook{GuildID: g.ID, ChannelID: ch.ID, ApplicationID: c.Bot.ApplicationID, CreatorID: c.Bot.UserID}
	if readFields(f, w, true); f.Err() != nil {
		return 0, nil, f.Err()
	}
	if err := room(c, g, ch.ID); err != nil {
		return 0, nil, err
	}
	if err := c.HiddenLimit("webhook creates/"+ch.ID, c.Options.Limits.WebhookCreates); err != nil {
		return 0, nil, err
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	w.ID, w.Token = c.Discord.NewID(), c.Discord.Secret(68)
	g.Webhooks[w.ID] = w
	c.Discord.WroteWebhook(g, w.ID, nil)
	c.Discord.WebhookChanged(g, ch.ID, model.AuditEntry{
		Action: model.AuditWebhookCreate, UserID: c.Bot.UserID, TargetID: w.ID, Reason: reason,
		Changes: []model.Change{
			{Key: "name", New: w.Name}, {Key: "channel_id", New: w.ChannelID}, {Key: "type", New: 1},
		},
	})
	return http.StatusOK, c.Discord.WebhookWire(w, c.Bot.ApplicationID), nil
}

// ListOfChannel is GET /channels/{channel_id}/webhooks.
func ListOfChannel(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermManageWebhooks)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, list(c, g, ch.ID), nil
}

// ListOfGuild is GET /guilds/{guild_id}/webhooks.
func ListOfGuild(c *call.Call) (int, any, error) {
	g, err := c.GuildWith(model.PermManageWebhooks)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, list(c, g, ""), nil
}

func list(c *call.Call, g *model.GuildState, channel string) []any {
	out := []any{}
	for _, w := range c.Discord.ListWebhooks(g, c.Stale) {
		if channel == "" || w.ChannelID == channel {
			out = append(out, c.Discord.WebhookWire(w, c.Bot.ApplicationID))
		}
	}
	return out
}

// Get is GET /webhooks/{webhook_id}.
func Get(c *call.Call) (int, any, error) {
	_, w, err := c.Webhook(false)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.Discord.WebhookWire(w, c.Bot.ApplicationID), nil
}

// GetWithToken is GET /webhooks/{webhook_id}/{webhook_token}. The response has no field user.
func GetWithToken(c *call.Call) (int, any, error) {
	_, w, err := c.WebhookByToken()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.Discord.SecretWire(w), nil
}

// Delete is DELETE /webhooks/{webhook_id}.
func Delete(c *call.Call) (int, any, error) {
	g, w, err := c.Webhook(true)
	if err != nil {
		return 0, nil, err
	}
	return remove(c, g, w, c.Bot.UserID)
}

// DeleteWithToken is DELETE /webhooks/{webhook_id}/{webhook_token}.
func DeleteWithToken(c *call.Call) (int, any, error) {
	g, w, err := c.WebhookByToken()
	if err != nil {
		return 0, nil, err
	}
	return remove(c, g, w, "")
}

func remove(c *call.Call, g *model.GuildState, w *model.Webhook, user string) (int, any, error) {
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	delete(g.Webhooks, w.ID)
	c.Discord.WroteWebhook(g, w.ID, w)
	c.Discord.WebhookChanged(g, w.ChannelID, model.AuditEntry{
		Action: model.AuditWebhookDelete, UserID: user, TargetID: w.ID, Reason: reason,
		Changes: []model.Change{{Key: "name", Old: w.Name}},
	})
	return http.StatusNoContent, nil, nil
}
