// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"net/http"
	"slices"
	"strings"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// ExecuteWebhook is POST /webhooks/{webhook_id}/{webhook_token}, without authorization.
func ExecuteWebhook(c *call.Call) (int, any, error) {
	g, w, err := c.WebhookByToken()
	if err != nil {
		return 0, nil, err
	}
	if wait, ok := c.Windows.Take("webhooks-of/"+w.ChannelID, c.Options.Limits.WebhookChannel, c.Now); !ok {
		return 0, nil, &call.TooMany{After: wait, Scope: "shared"}
	}
	if model.ForumLike(g.Channels[w.ChannelID].Type) {
		return 0, nil, call.ErrForumNeedsThread // a message in a forum needs a thread, but threads are not simulated
	}
	f, err := readForm(c)
	if err != nil {
		return 0, nil, err
	}
	m := &model.Message{ChannelID: w.ChannelID, AuthorID: w.ID, AuthorName: w.Name, WebhookID: w.ID, AuthorIsBot: true}
	readFields(f, m)
	if f.Given("username") {
		f.Text("username", 1, 80, &m.AuthorName)
		if slices.Contains([]string{"everyone", "here"}, strings.ToLower(m.AuthorName)) {
			f.Fail("username", "USERNAME_INVALID", "Username cannot be \""+m.AuthorName+"\"")
		}
		for _, word := range []string{"clyde", "discord"} {
			if strings.Contains(strings.ToLower(m.AuthorName), word) {
				f.Fail("username", "USERNAME_INVALID_CONTAINS", "Username cannot contain \""+word+"\"")
			}
		}
	}
	f.Text("avatar_url", 0, 2048, &m.AvatarURL)
	if err := f.Err(); err != nil {
		return 0, nil, err
	}
	if isEmpty(m) {
		return 0, nil, call.ErrEmptyMessage
	}
	c.Discord.Post(g, m)
	if c.Flag("wait") {
		return http.StatusOK, m.Wire(), nil
	}
	return http.StatusNoContent, nil, nil
}

func findWebhookMessage(c *call.Call) (*model.GuildState, *model.Message, error) {
	g, w, err := c.WebhookByToken()
	if err != nil {
		return nil, nil, err
	}
	m, err := find(c, g, w.ChannelID)
	if err != nil {
		return nil, nil, err
	}
	if m.WebhookID != w.ID {
		return nil, nil, call.ErrUnknownMessage
	}
	return g, m, nil
}

// GetWebhookMessage is GET /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}.
func GetWebhookMessage(c *call.Call) (int, any, error) {
	_, m, err := findWebhookMessage(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, m.Wire(), nil
}

// EditWebhookMessage is PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}.
func EditWebhookMessage(c *call.Call) (int, any, error) {
	g, m, err := findWebhookMessage(c)
	if err != nil {
		return 0, nil, err
	}
	f, err := readForm(c)
	if err != nil {
		return 0, nil, err
	}
	after := *m
	if readFields(f, &after); f.Err() != nil {
		return 0, nil, f.Err()
	}
	if isEmpty(&after) {
		return 0, nil, call.ErrEmptyMessage
	}
	after.Edited = c.Now
	*m = after
	w := m.Wire()
	w["guild_id"] = g.ID
	c.Discord.Emit(g, "MESSAGE_UPDATE", w)
	c.Discord.OnChange()
	return http.StatusOK, m.Wire(), nil
}

// DeleteWebhookMessage is DELETE /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}.
func DeleteWebhookMessage(c *call.Call) (int, any, error) {
	g, m, err := findWebhookMessage(c)
	if err != nil {
		return 0, nil, err
	}
	c.Discord.RemoveMessage(g, m)
	return http.StatusNoContent, nil, nil
}
