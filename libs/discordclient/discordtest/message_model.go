package discordtest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is what somebody wrote into a channel.
type Message struct {
	ID, ChannelID, Content          string
	AuthorID, AuthorName, WebhookID string
	AvatarURL                       string
	AuthorIsBot                     bool // webhooks are too
	Embeds                          []Embed
	Flags                           int
	TTS, MentionsEveryone           bool
	Time, Edited                    time.Time
}

// Embed is a rich block in a message; Type is always "rich".
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

// EmbedImage is a picture; the simulator fetches none.
type EmbedImage struct {
	URL string `json:"url,omitempty"`
}

// EmbedField is a name with a value.
type EmbedField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline"`
}

// wire is the message as Discord tells it.
func (m *Message) wire() map[string]any {
	w := map[string]any{
		"id": m.ID, "type": 0, "channel_id": m.ChannelID, "content": m.Content, "flags": m.Flags, "tts": m.TTS, "pinned": false,
		"timestamp": m.Time.UTC().Format(timeLayout), "edited_timestamp": nil, "mention_everyone": m.MentionsEveryone,
		"mentions": []any{}, "mention_roles": []any{}, "attachments": []any{}, "components": []any{}, "embeds": append([]Embed{}, m.Embeds...),
	}
	if !m.Edited.IsZero() {
		w["edited_timestamp"] = m.Edited.UTC().Format(timeLayout)
	}
	author := (&User{ID: m.AuthorID, Name: m.AuthorName, Bot: m.AuthorIsBot}).wire()
	if m.WebhookID != "" {
		w["webhook_id"] = m.WebhookID
		author["discriminator"] = "0000"
	}
	w["author"] = author
	return w
}

// readMessage reads content, embeds and the rest into m. An edit leaves what is not given.
func readMessage(f *form, m *Message) {
	f.text("content", 0, 2000, &m.Content)
	f.boolean("tts", &m.TTS)
	f.integer("flags", 0, 1<<30, m.Flags, &m.Flags)
	if f.has("embeds") {
		m.Embeds = nil
		length := 0
		for i, raw := range f.list("embeds", 10) {
			m.Embeds = append(m.Embeds, readEmbed(f.sub("embeds."+itoa(i), raw), raw))
			length += m.Embeds[i].length()
		}
		if length > maxEmbeds {
			f.fail("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of "+itoa(maxEmbeds))
		}
	}
	m.MentionsEveryone = mentionsEveryone(m.Content) && parses(f.fields["allowed_mentions"], "everyone")
}

// maxEmbeds is how many characters the embeds of a message may have in all.
const maxEmbeds = 6000

// length is how much of maxEmbeds an embed takes.
func (e *Embed) length() int {
	n := utf8.RuneCountInString(e.Title + e.Description)
	for _, f := range e.Fields {
		n += utf8.RuneCountInString(f.Name + f.Value)
	}
	if e.Footer != nil {
		n += utf8.RuneCountInString(e.Footer.Text)
	}
	if e.Author != nil {
		n += utf8.RuneCountInString(e.Author.Name)
	}
	return n
}

// empty says whether a message shows nothing: embeds without anything in them do not count.
func (m *Message) empty() bool {
	return m.Content == "" && !slices.ContainsFunc(m.Embeds, func(e Embed) bool {
		return e.length() > 0 || e.Image != nil || e.Thumbnail != nil || e.URL != "" || e.Timestamp != ""
	})
}

// mentionsEveryone looks for the two words that wake everybody.
func mentionsEveryone(content string) bool {
	return strings.Contains(content, "@everyone") || strings.Contains(content, "@here")
}

// parses says whether allowed_mentions lets a kind through; absent lets all.
func parses(raw json.RawMessage, kind string) bool {
	if raw == nil {
		return true
	}
	var allowed struct{ Parse []string }
	_ = json.Unmarshal(raw, &allowed)
	return strings.Contains(strings.Join(allowed.Parse, " "), kind)
}

// readEmbed reads one embed and checks Discord's lengths.
func readEmbed(f *form, raw json.RawMessage) Embed {
	e := Embed{}
	if f.fields == nil {
		return e
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		f.fail("_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	e.Type = "rich"
	f.text("title", 0, 256, &e.Title)
	f.text("description", 0, 4096, &e.Description)
	f.integer("color", 0, 0xffffff, 0, &e.Color)
	for _, key := range []string{"url"} {
		if e.URL != "" && !strings.HasPrefix(e.URL, "http") {
			f.fail(key, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
		}
	}
	if e.Timestamp != "" {
		t, err := time.Parse(time.RFC3339, e.Timestamp)
		if err != nil {
			f.fail("timestamp", "DATE_TIME_TYPE_PARSE", "Could not parse "+e.Timestamp+". Should be ISO8601.")
		}
		e.Timestamp = t.UTC().Format(timeLayout)
	}
	readEmbedParts(f)
	return e
}

// readEmbedParts checks the lengths of fields, author and footer.
func readEmbedParts(f *form) {
	ignored := ""
	for i, raw := range f.list("fields", 25) {
		sub := f.sub("fields."+itoa(i), raw)
		sub.require("name")
		sub.require("value")
		sub.text("name", 0, 256, &ignored)
		sub.text("value", 0, 1024, &ignored)
	}
	if f.given("footer") {
		f.sub("footer", f.fields["footer"]).text("text", 0, 2048, &ignored)
	}
	if f.given("author") {
		f.sub("author", f.fields["author"]).text("name", 0, 256, &ignored)
	}
}
