// SPDX-License-Identifier: Apache-2.0

// Package messages has the routes of messages that bots and webhooks send.
package messages

import (
	"net/http"
	"slices"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Create is POST /channels/{channel_id}/messages.
func Create(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermSendMessages)
	if err != nil {
		return 0, nil, err
	}
	if ch.Type == model.TypeCategory || model.ForumLike(ch.Type) {
		return 0, nil, call.ErrNonTextChannel
	}
	f, err := readForm(c)
	if err != nil {
		return 0, nil, err
	}
	m := &model.Message{ChannelID: ch.ID, AuthorID: c.Bot.UserID, AuthorName: c.Bot.Name, AuthorIsBot: true}
	if readFields(f, m); f.Err() != nil {
		return 0, nil, f.Err()
	}
	if isEmpty(m) {
		return 0, nil, call.ErrEmptyMessage
	}
	c.Discord.Post(g, m)
	return http.StatusOK, m.Wire(), nil
}

// List is GET /channels/{channel_id}/messages, newest first.
func List(c *call.Call) (int, any, error) {
	g, ch, err := c.Channel()
	if err != nil {
		return 0, nil, err
	}
	limit, err := c.Number("limit", 50, 1, 100)
	if err != nil {
		return 0, nil, err
	}
	q, out := c.Request.URL.Query(), []any{}
	if !g.PermissionsIn(ch, c.Bot.UserID).Has(model.PermReadMessageHistory) {
		return http.StatusOK, out, nil
	}
	all := slices.DeleteFunc(slices.Clone(g.Messages[ch.ID]), func(m *model.Message) bool {
		return q.Get("before") != "" && model.CompareIDs(m.ID, q.Get("before")) >= 0 ||
			q.Get("after") != "" && model.CompareIDs(m.ID, q.Get("after")) <= 0
	})
	if len(all) > limit && q.Get("after") != "" {
		all = all[:limit]
	}
	slices.Reverse(all)
	for _, m := range all[:min(limit, len(all))] {
		out = append(out, m.Wire())
	}
	return http.StatusOK, out, nil
}

func find(c *call.Call, g *model.GuildState, channel string) (*model.Message, error) {
	for _, m := range g.Messages[channel] {
		if m.ID == c.Path("message_id") {
			return m, nil
		}
	}
	return nil, call.ErrUnknownMessage
}

// Get is GET /channels/{channel_id}/messages/{message_id}.
func Get(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermReadMessageHistory)
	if err != nil {
		return 0, nil, err
	}
	m, err := find(c, g, ch.ID)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, m.Wire(), nil
}

// Delete is DELETE /channels/{channel_id}/messages/{message_id}.
func Delete(c *call.Call) (int, any, error) {
	g, ch, err := c.Channel()
	if err != nil {
		return 0, nil, err
	}
	m, err := find(c, g, ch.ID)
	if err != nil {
		return 0, nil, err
	}
	if m.AuthorID != c.Bot.UserID {
		if err := c.May(g, g.PermissionsIn(ch, c.Bot.UserID), model.PermManageMessages); err != nil {
			return 0, nil, err
		}
	}
	c.Discord.RemoveMessage(g, m)
	return http.StatusNoContent, nil, nil
}
