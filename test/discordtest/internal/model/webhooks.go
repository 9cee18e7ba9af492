// SPDX-License-Identifier: Apache-2.0

package model

// Webhook is an incoming webhook. Token is the secret in its URL.
type Webhook struct {
	ID, GuildID, ChannelID, ApplicationID, Name, Token string
	CreatorID                                          string // id of a user
	Avatar                                             string // hash of the image
}

// WebhookWire returns a webhook in Discord's JSON. Only the application that created it gets
// token and url.
func (d *Discord) WebhookWire(w *Webhook, application string) map[string]any {
	out := map[string]any{"id": w.ID, "type": 1, "guild_id": w.GuildID, "channel_id": w.ChannelID, "name": w.Name,
		"avatar": OrNull(w.Avatar), "application_id": OrNull(w.ApplicationID)}
	if u := d.Users[w.CreatorID]; u != nil {
		out["user"] = u.Wire()
	}
	if application != "" && application == w.ApplicationID {
		out["token"], out["url"] = w.Token, d.URL+"/api/webhooks/"+w.ID+"/"+w.Token
	}
	return out
}

// SecretWire returns a webhook's JSON, without the field user, for a client with the webhook token.
func (d *Discord) SecretWire(w *Webhook) map[string]any {
	out := d.WebhookWire(w, w.ApplicationID)
	delete(out, "user")
	return out
}

// WebhookChanged writes an audit log entry and sends WEBHOOKS_UPDATE. The event has the ids of the
// guild and the channel, but not of the webhook.
func (d *Discord) WebhookChanged(g *GuildState, channel string, e AuditEntry) {
	d.Log(g, e)
	d.Emit(g, "WEBHOOKS_UPDATE", map[string]any{"guild_id": g.ID, "channel_id": channel})
	d.OnChange()
}
