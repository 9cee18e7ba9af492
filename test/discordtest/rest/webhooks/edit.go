// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"net/http"
	"strings"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

func readFields(f *call.Form, w *model.Webhook, create bool) {
	if create {
		f.Require("name")
	} else {
		f.NotNull("name")
	}
	if f.Given("name") {
		f.Label("name", 1, 80, &w.Name)
		for _, word := range []string{"clyde", "discord"} {
			if strings.Contains(strings.ToLower(w.Name), word) {
				f.Fail("name", "USERNAME_INVALID_CONTAINS", "Username cannot contain \""+word+"\"")
			}
		}
	}
	f.Image("avatar", &w.Avatar, 0, false)
}

func room(c *call.Call, g *model.GuildState, channel string) error {
	n := 0
	for _, w := range g.Webhooks {
		if w.ChannelID == channel {
			n++
		}
	}
	switch l := c.Options.Limits; {
	case n >= l.WebhooksPerChannel:
		return call.LimitReached(30007, "webhooks", l.WebhooksPerChannel)
	case len(g.Webhooks) >= l.WebhooksPerGuild:
		return call.LimitReached(30058, "webhooks per guild", l.WebhooksPerGuild)
	}
	return nil
}

// Edit is PATCH /webhooks/{webhook_id}. It can move the webhook to another channel of the guild.
func Edit(c *call.Call) (int, any, error) {
	g, w, err := c.Webhook(true)
	if err != nil {
		return 0, nil, err
	}
	if err := apply(c, g, w, c.Bot.UserID, true); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.Discord.WebhookWire(w, c.Bot.ApplicationID), nil
}

// EditWithToken is PATCH /webhooks/{webhook_id}/{webhook_token}. It cannot move the webhook.
func EditWithToken(c *call.Call) (int, any, error) {
	g, w, err := c.WebhookByToken()
	if err != nil {
		return 0, nil, err
	}
	if err := apply(c, g, w, "", false); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.Discord.SecretWire(w), nil
}

func apply(c *call.Call, g *model.GuildState, w *model.Webhook, user string, move bool) error {
	f, err := c.Object()
	if err != nil {
		return err
	}
	after, from := *w, w.ChannelID
	readFields(f, &after, false)
	if move {
		f.ID("channel_id", &after.ChannelID)
	}
	if err := f.Err(); err != nil {
		return err
	}
	if after.ChannelID == "" {
		after.ChannelID = from
	}
	if after.ChannelID != from {
		to := g.Channels[after.ChannelID]
		switch {
		case to == nil:
			return call.ErrUnknownChannel
		case to.Type == model.TypeCategory:
			return call.ErrChannelType
		}
		if err := c.May(g, g.PermissionsIn(to, user), model.PermManageWebhooks); err != nil {
			return err
		}
		if err := room(c, g, to.ID); err != nil {
			return err
		}
	}
	reason, err := c.Reason()
	if err != nil {
		return err
	}
	changes := []model.Change{
		{Key: "name", Old: w.Name, New: after.Name}, {Key: "channel_id", Old: from, New: after.ChannelID},
	}
	before := *w
	*w = after
	c.Discord.WroteWebhook(g, w.ID, &before)
	c.Discord.WebhookChanged(g, w.ChannelID, model.AuditEntry{
		Action: model.AuditWebhookUpdate, UserID: user, TargetID: w.ID, Reason: reason, Changes: changes,
	})
	if from != w.ChannelID {
		c.Discord.Emit(g, "WEBHOOKS_UPDATE", map[string]any{"guild_id": g.ID, "channel_id": from})
	}
	return nil
}
