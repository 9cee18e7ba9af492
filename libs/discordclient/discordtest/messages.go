package discordtest

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// itoa is strconv.Itoa by its usual name.
func itoa(n int) string { return strconv.Itoa(n) }

// messageForm reads the body of a message: JSON, a form, or multipart with payload_json. Files are not kept.
func (c *call) messageForm() (*form, error) {
	kind, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	switch kind {
	case "multipart/form-data":
		r := c.r.Clone(c.r.Context())
		r.Body = io.NopCloser(bytes.NewReader(c.body))
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return nil, errJSON
		}
		return parseForm([]byte(r.PostFormValue("payload_json")))
	case "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(c.body))
		if err != nil {
			return nil, errJSON
		}
		plain := map[string]string{}
		for k := range values {
			plain[k] = values.Get(k)
		}
		return parseForm(encode(plain))
	}
	return c.object()
}

// executeWebhook is POST /webhooks/{webhook_id}/{webhook_token}: a message from outside, without authorization.
func (c *call) executeWebhook() (int, any, error) {
	g, w, err := c.webhookByToken()
	if err != nil {
		return 0, nil, err
	}
	if wait, ok := c.srv.limits.take("webhooks-of/"+w.ChannelID, c.srv.opts.Limits.WebhookChannel, c.now); !ok {
		return 0, nil, &tooMany{after: wait, scope: "shared"}
	}
	if forumLike(g.channels[w.ChannelID].Type) {
		return 0, nil, errForumNeedsThread // threads are not simulated
	}
	f, err := c.messageForm()
	if err != nil {
		return 0, nil, err
	}
	m := &Message{ChannelID: w.ChannelID, AuthorID: w.ID, AuthorName: w.Name, WebhookID: w.ID, AuthorIsBot: true}
	readMessage(f, m)
	if f.given("username") {
		f.text("username", 1, 80, &m.AuthorName)
		if slices.Contains([]string{"everyone", "here"}, strings.ToLower(m.AuthorName)) {
			f.fail("username", "USERNAME_INVALID", "Username cannot be \""+m.AuthorName+"\"")
		}
		for _, word := range []string{"clyde", "discord"} {
			if strings.Contains(strings.ToLower(m.AuthorName), word) {
				f.fail("username", "USERNAME_INVALID_CONTAINS", "Username cannot contain \""+word+"\"")
			}
		}
	}
	f.text("avatar_url", 0, 2048, &m.AvatarURL)
	if err := f.err(); err != nil {
		return 0, nil, err
	}
	if m.empty() {
		return 0, nil, errEmptyMessage
	}
	c.srv.post(g, m)
	if c.flag("wait") {
		return http.StatusOK, m.wire(), nil
	}
	return http.StatusNoContent, nil, nil
}

// post puts a message into its channel and tells everybody.
func (s *Server) post(g *guild, m *Message) {
	m.ID, m.Time = s.newID(), s.clock.now()
	g.messages[m.ChannelID] = append(g.messages[m.ChannelID], m)
	g.channels[m.ChannelID].LastMessageID = m.ID
	w := m.wire()
	w["guild_id"] = g.ID
	s.emit(g, "MESSAGE_CREATE", w)
	s.changed()
}

// createMessage is POST /channels/{channel_id}/messages by a bot.
func (c *call) createMessage() (int, any, error) {
	g, ch, err := c.channelWith(PermSendMessages)
	if err != nil {
		return 0, nil, err
	}
	if ch.Type == TypeCategory || forumLike(ch.Type) {
		return 0, nil, errNonTextChannel
	}
	f, err := c.messageForm()
	if err != nil {
		return 0, nil, err
	}
	m := &Message{ChannelID: ch.ID, AuthorID: c.bot.UserID, AuthorName: c.bot.Name, AuthorIsBot: true}
	if readMessage(f, m); f.err() != nil {
		return 0, nil, f.err()
	}
	if m.empty() {
		return 0, nil, errEmptyMessage
	}
	c.srv.post(g, m)
	return http.StatusOK, m.wire(), nil
}

// getMessages is GET /channels/{channel_id}/messages, newest first; without READ_MESSAGE_HISTORY there are none.
func (c *call) getMessages() (int, any, error) {
	g, ch, err := c.channel()
	if err != nil {
		return 0, nil, err
	}
	limit, err := c.number("limit", 50, 1, 100)
	if err != nil {
		return 0, nil, err
	}
	q, out := c.r.URL.Query(), []any{}
	if !g.permissionsIn(ch, c.bot.UserID).Has(PermReadMessageHistory) {
		return http.StatusOK, out, nil
	}
	all := slices.DeleteFunc(slices.Clone(g.messages[ch.ID]), func(m *Message) bool {
		return q.Get("before") != "" && compareIDs(m.ID, q.Get("before")) >= 0 || q.Get("after") != "" && compareIDs(m.ID, q.Get("after")) <= 0
	})
	if len(all) > limit && q.Get("after") != "" {
		all = all[:limit]
	}
	slices.Reverse(all)
	for _, m := range all[:min(limit, len(all))] {
		out = append(out, m.wire())
	}
	return http.StatusOK, out, nil
}

// message finds the one of the path within a channel.
func (c *call) message(g *guild, channel string) (*Message, error) {
	for _, m := range g.messages[channel] {
		if m.ID == c.r.PathValue("message_id") {
			return m, nil
		}
	}
	return nil, errUnknownMessage
}

// getMessage is one message.
func (c *call) getMessage() (int, any, error) {
	g, ch, err := c.channelWith(PermReadMessageHistory)
	if err != nil {
		return 0, nil, err
	}
	m, err := c.message(g, ch.ID)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, m.wire(), nil
}

// deleteMessage takes one away: the bot's own, or with MANAGE_MESSAGES any.
func (c *call) deleteMessage() (int, any, error) {
	g, ch, err := c.channel()
	if err != nil {
		return 0, nil, err
	}
	m, err := c.message(g, ch.ID)
	if err != nil {
		return 0, nil, err
	}
	if m.AuthorID != c.bot.UserID {
		if err := c.may(g, g.permissionsIn(ch, c.bot.UserID), PermManageMessages); err != nil {
			return 0, nil, err
		}
	}
	c.srv.dropMessage(g, m)
	return http.StatusNoContent, nil, nil
}

// dropMessage takes one away and tells everybody.
func (s *Server) dropMessage(g *guild, m *Message) {
	g.messages[m.ChannelID] = slices.DeleteFunc(g.messages[m.ChannelID], func(x *Message) bool { return x == m })
	s.emit(g, "MESSAGE_DELETE", map[string]any{"id": m.ID, "channel_id": m.ChannelID, "guild_id": g.ID})
	s.changed()
}

// webhookMessage finds a message that the webhook of the path has sent.
func (c *call) webhookMessage() (*guild, *Message, error) {
	g, w, err := c.webhookByToken()
	if err != nil {
		return nil, nil, err
	}
	m, err := c.message(g, w.ChannelID)
	if err != nil {
		return nil, nil, err
	}
	if m.WebhookID != w.ID {
		return nil, nil, errUnknownMessage
	}
	return g, m, nil
}

// getWebhookMessage is one message of a webhook.
func (c *call) getWebhookMessage() (int, any, error) {
	_, m, err := c.webhookMessage()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, m.wire(), nil
}

// editWebhookMessage changes one.
func (c *call) editWebhookMessage() (int, any, error) {
	g, m, err := c.webhookMessage()
	if err != nil {
		return 0, nil, err
	}
	f, err := c.messageForm()
	if err != nil {
		return 0, nil, err
	}
	after := *m
	if readMessage(f, &after); f.err() != nil {
		return 0, nil, f.err()
	}
	if after.empty() {
		return 0, nil, errEmptyMessage
	}
	after.Edited = c.now
	*m = after
	w := m.wire()
	w["guild_id"] = g.ID
	c.srv.emit(g, "MESSAGE_UPDATE", w)
	c.srv.changed()
	return http.StatusOK, m.wire(), nil
}

// deleteWebhookMessage takes one away.
func (c *call) deleteWebhookMessage() (int, any, error) {
	g, m, err := c.webhookMessage()
	if err != nil {
		return 0, nil, err
	}
	c.srv.dropMessage(g, m)
	return http.StatusNoContent, nil, nil
}
