package discordtest

import (
	"net/http"
	"strings"
)

// webhookWire is a webhook as Discord tells it to an application ("": to nobody in particular): token and URL only to
// the one that made it.
func (s *Server) webhookWire(w *Webhook, application string) map[string]any {
	out := map[string]any{"id": w.ID, "type": 1, "guild_id": w.GuildID, "channel_id": w.ChannelID, "name": w.Name,
		"avatar": orNull(w.Avatar), "application_id": orNull(w.ApplicationID)}
	if u := s.users[w.CreatorID]; u != nil {
		out["user"] = u.wire()
	}
	if application != "" && application == w.ApplicationID {
		out["token"], out["url"] = w.Token, s.url+"/api/webhooks/"+w.ID+"/"+w.Token
	}
	return out
}

// readWebhook reads name and avatar.
func readWebhook(f *form, w *Webhook, create bool) {
	if create {
		f.require("name")
	} else {
		f.notNull("name")
	}
	if f.given("name") {
		f.label("name", 1, 80, &w.Name)
		for _, word := range []string{"clyde", "discord"} {
			if strings.Contains(strings.ToLower(w.Name), word) {
				f.fail("name", "USERNAME_INVALID_CONTAINS", "Username cannot contain \""+word+"\"")
			}
		}
	}
	readImage(f, "avatar", &w.Avatar)
}

// createWebhook is POST /channels/{channel_id}/webhooks.
func (c *call) createWebhook() (int, any, error) {
	g, ch, err := c.channelWith(PermManageWebhooks)
	if err != nil {
		return 0, nil, err
	}
	if ch.Type == TypeCategory {
		return 0, nil, errChannelType
	}
	f, err := c.object()
	if err != nil {
		return 0, nil, err
	}
	w := &Webhook{GuildID: g.ID, ChannelID: ch.ID, ApplicationID: c.bot.ApplicationID, CreatorID: c.bot.UserID}
	if readWebhook(f, w, true); f.err() != nil {
		return 0, nil, f.err()
	}
	if err := c.srv.webhookRoom(g, ch.ID); err != nil {
		return 0, nil, err
	}
	reason, err := c.reason()
	if err != nil {
		return 0, nil, err
	}
	w.ID, w.Token = c.srv.newID(), c.srv.secret(68)
	g.webhooks[w.ID] = w
	c.srv.webhookChanged(g, ch.ID, AuditEntry{Action: auditWebhookCreate, UserID: c.bot.UserID, TargetID: w.ID, Reason: reason, Changes: []Change{
		{Key: "name", New: w.Name}, {Key: "channel_id", New: w.ChannelID}, {Key: "type", New: 1}}})
	return http.StatusOK, c.srv.webhookWire(w, c.bot.ApplicationID), nil
}

// webhookRoom checks the limits for one more webhook.
func (s *Server) webhookRoom(g *guild, channel string) error {
	n := 0
	for _, w := range g.webhooks {
		if w.ChannelID == channel {
			n++
		}
	}
	switch l := s.opts.Limits; {
	case n >= l.WebhooksPerChannel:
		return limitReached(30007, "webhooks", l.WebhooksPerChannel)
	case len(g.webhooks) >= l.WebhooksPerGuild:
		return limitReached(30058, "webhooks per guild", l.WebhooksPerGuild)
	}
	return nil
}

// webhookChanged logs and tells: the event carries the channel only.
func (s *Server) webhookChanged(g *guild, channel string, e AuditEntry) {
	s.log(g, e)
	s.emit(g, "WEBHOOKS_UPDATE", map[string]any{"guild_id": g.ID, "channel_id": channel})
	s.changed()
}

// getChannelWebhooks is GET /channels/{channel_id}/webhooks.
func (c *call) getChannelWebhooks() (int, any, error) {
	g, ch, err := c.channelWith(PermManageWebhooks)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.webhookList(g, ch.ID), nil
}

// getGuildWebhooks is GET /guilds/{guild_id}/webhooks.
func (c *call) getGuildWebhooks() (int, any, error) {
	g, err := c.guildWith(PermManageWebhooks)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.webhookList(g, ""), nil
}

// webhookList lists by age; channel "" is all.
func (c *call) webhookList(g *guild, channel string) []any {
	out := []any{}
	for _, w := range g.sortedWebhooks() {
		if channel == "" || w.ChannelID == channel {
			out = append(out, c.srv.webhookWire(w, c.bot.ApplicationID))
		}
	}
	return out
}

// webhook finds the one of the path for a bot: its own application's, or with MANAGE_WEBHOOKS in the channel. To look at,
// its own need no permission; to change, they do.
func (c *call) webhook(change bool) (*guild, *Webhook, error) {
	g, w := c.srv.findWebhook(c.r.PathValue("webhook_id"))
	if w == nil {
		return nil, nil, errUnknownWebhook
	}
	if !change && w.ApplicationID == c.bot.ApplicationID {
		return g, w, nil
	}
	return g, w, c.may(g, g.permissionsIn(g.channels[w.ChannelID], c.bot.UserID), PermManageWebhooks)
}

// webhookByToken finds the one of the path by its secret.
func (c *call) webhookByToken() (*guild, *Webhook, error) {
	g, w := c.srv.findWebhook(c.r.PathValue("webhook_id"))
	switch {
	case w == nil:
		return nil, nil, errUnknownWebhook
	case w.Token != c.r.PathValue("webhook_token"):
		return nil, nil, errWebhookToken
	}
	return g, w, nil
}

// getWebhook is GET /webhooks/{webhook_id}.
func (c *call) getWebhook() (int, any, error) {
	_, w, err := c.webhook(false)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.srv.webhookWire(w, c.bot.ApplicationID), nil
}

// getWebhookWithToken answers without `user`.
func (c *call) getWebhookWithToken() (int, any, error) {
	_, w, err := c.webhookByToken()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.srv.secretWire(w), nil
}

// secretWire is a webhook as told to those who know its token.
func (s *Server) secretWire(w *Webhook) map[string]any {
	out := s.webhookWire(w, w.ApplicationID)
	delete(out, "user")
	return out
}

// editWebhook is PATCH /webhooks/{webhook_id}: it may move to another channel of the guild.
func (c *call) editWebhook() (int, any, error) {
	g, w, err := c.webhook(true)
	if err != nil {
		return 0, nil, err
	}
	if err := c.applyWebhook(g, w, c.bot.UserID, true); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.srv.webhookWire(w, c.bot.ApplicationID), nil
}

// editWebhookWithToken is PATCH with the secret: it cannot move.
func (c *call) editWebhookWithToken() (int, any, error) {
	g, w, err := c.webhookByToken()
	if err != nil {
		return 0, nil, err
	}
	if err := c.applyWebhook(g, w, "", false); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.srv.secretWire(w), nil
}

// applyWebhook reads and applies an edit.
func (c *call) applyWebhook(g *guild, w *Webhook, user string, move bool) error {
	f, err := c.object()
	if err != nil {
		return err
	}
	after, from := *w, w.ChannelID
	readWebhook(f, &after, false)
	if move {
		f.id("channel_id", &after.ChannelID)
	}
	if err := f.err(); err != nil {
		return err
	}
	if after.ChannelID == "" {
		after.ChannelID = from
	}
	if after.ChannelID != from {
		to := g.channels[after.ChannelID]
		switch {
		case to == nil:
			return errUnknownChannel
		case to.Type == TypeCategory:
			return errChannelType
		}
		if err := c.may(g, g.permissionsIn(to, user), PermManageWebhooks); err != nil {
			return err
		}
		if err := c.srv.webhookRoom(g, to.ID); err != nil {
			return err
		}
	}
	reason, err := c.reason()
	if err != nil {
		return err
	}
	changes := []Change{{Key: "name", Old: w.Name, New: after.Name}, {Key: "channel_id", Old: from, New: after.ChannelID}}
	*w = after
	c.srv.webhookChanged(g, w.ChannelID, AuditEntry{Action: auditWebhookUpdate, UserID: user, TargetID: w.ID, Reason: reason, Changes: changes})
	if from != w.ChannelID {
		c.srv.emit(g, "WEBHOOKS_UPDATE", map[string]any{"guild_id": g.ID, "channel_id": from})
	}
	return nil
}

// deleteWebhook is DELETE /webhooks/{webhook_id}.
func (c *call) deleteWebhook() (int, any, error) {
	g, w, err := c.webhook(true)
	if err != nil {
		return 0, nil, err
	}
	return c.dropWebhook(g, w, c.bot.UserID)
}

// deleteWebhookWithToken is DELETE with the secret.
func (c *call) deleteWebhookWithToken() (int, any, error) {
	g, w, err := c.webhookByToken()
	if err != nil {
		return 0, nil, err
	}
	return c.dropWebhook(g, w, "")
}

// dropWebhook takes one away.
func (c *call) dropWebhook(g *guild, w *Webhook, user string) (int, any, error) {
	reason, err := c.reason()
	if err != nil {
		return 0, nil, err
	}
	delete(g.webhooks, w.ID)
	c.srv.webhookChanged(g, w.ChannelID, AuditEntry{Action: auditWebhookDelete, UserID: user, TargetID: w.ID, Reason: reason,
		Changes: []Change{{Key: "name", Old: w.Name}}})
	return http.StatusNoContent, nil, nil
}
