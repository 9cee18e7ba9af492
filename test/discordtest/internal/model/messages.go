// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"time"
)

// Message is a message in a channel.
type Message struct {
	ID, ChannelID, Content          string
	AuthorID, AuthorName, WebhookID string
	AvatarURL                       string
	AuthorIsBot                     bool // also true for a message of a webhook
	Embeds                          []Embed
	Flags                           int
	TTS, MentionsEveryone           bool
	Time, Edited                    time.Time
}

// Embed is a rich embed of a message. Type is always "rich".
type Embed struct {
	Type        string       `json:"type"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	URL         string       `json:"url,omitempty"`
	Color       int          `json:"color,omitempty"`
	Timestamp   string       `json:"timestamp,omitempty"`
	Author      *EmbedAuthor `json:"author,omitempty"`
	Footer      *EmbedFooter `json:"footer,omitempty"`
	Image       *EmbedImage  `json:"image,omitempty"`
	Thumbnail   *EmbedImage  `json:"thumbnail,omitempty"`
	Fields      []EmbedField `json:"fields,omitempty"`
}

// EmbedAuthor is the line above an embed's title.
type EmbedAuthor struct {
	Name    string `json:"name"`
	URL     string `json:"url,omitempty"`
	IconURL string `json:"icon_url,omitempty"`
}

// EmbedFooter is the line below an embed.
type EmbedFooter struct {
	Text    string `json:"text"`
	IconURL string `json:"icon_url,omitempty"`
}

// EmbedImage is the URL of a picture, which the simulator does not fetch.
type EmbedImage struct {
	URL string `json:"url,omitempty"`
}

// EmbedField is a name with a value.
type EmbedField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline"`
}

// Wire returns the message in Discord's JSON.
func (m *Message) Wire() map[string]any {
	w := map[string]any{
		"id": m.ID, "type": 0, "channel_id": m.ChannelID, "content": m.Content, "flags": m.Flags, "tts": m.TTS,
		"pinned":    false,
		"timestamp": m.Time.UTC().Format(TimeLayout), "edited_timestamp": nil, "mention_everyone": m.MentionsEveryone,
		"mentions": []any{}, "mention_roles": []any{}, "attachments": []any{}, "components": []any{},
		"embeds": append([]Embed{}, m.Embeds...),
	}
	if !m.Edited.IsZero() {
		w["edited_timestamp"] = m.Edited.UTC().Format(TimeLayout)
	}
	author := (&User{ID: m.AuthorID, Name: m.AuthorName, Bot: m.AuthorIsBot}).Wire()
	if m.WebhookID != "" {
		w["webhook_id"] = m.WebhookID
		author["discriminator"] = "0000"
	}
	w["author"] = author
	return w
}

// Post gives a message its id and time, adds it to its channel and sends MESSAGE_CREATE.
func (d *Discord) Post(g *GuildState, m *Message) {
	m.ID, m.Time = d.NewID(), d.Clock.Now()
	g.Messages[m.ChannelID] = append(g.Messages[m.ChannelID], m)
	g.Channels[m.ChannelID].LastMessageID = m.ID
	w := m.Wire()
	w["guild_id"] = g.ID
	d.Emit(g, "MESSAGE_CREATE", w)
	d.OnChange()
}

// RemoveMessage deletes a message and sends MESSAGE_DELETE.
func (d *Discord) RemoveMessage(g *GuildState, m *Message) {
	g.Messages[m.ChannelID] = slices.DeleteFunc(g.Messages[m.ChannelID], func(x *Message) bool { return x == m })
	d.Emit(g, "MESSAGE_DELETE", map[string]any{"id": m.ID, "channel_id": m.ChannelID, "guild_id": g.ID})
	d.OnChange()
}
