// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// readFields stores the sent fields in m. Fields that an edit does not send keep their values.
func readFields(f *call.Form, m *model.Message) {
	f.Text("content", 0, 2000, &m.Content)
	f.Boolean("tts", &m.TTS)
	f.Integer("flags", 0, 1<<30, m.Flags, &m.Flags)
	if f.Has("embeds") {
		m.Embeds = nil
		length := 0
		for i, raw := range f.List("embeds", 10) {
			m.Embeds = append(m.Embeds, readEmbed(f.Sub("embeds."+strconv.Itoa(i), raw), raw))
			length += embedLength(&m.Embeds[i])
		}
		if length > maxEmbeds {
			f.Fail("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of "+strconv.Itoa(maxEmbeds))
		}
	}
	m.MentionsEveryone = mentionsEveryone(m.Content) && parses(f.Raw("allowed_mentions"), "everyone")
}

const maxEmbeds = 6000

func embedLength(e *model.Embed) int {
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

func isEmpty(m *model.Message) bool {
	return m.Content == "" && !slices.ContainsFunc(m.Embeds, func(e model.Embed) bool {
		return embedLength(&e) > 0 || e.Image != nil || e.Thumbnail != nil || e.URL != "" || e.Timestamp != ""
	})
}

func mentionsEveryone(content string) bool {
	return strings.Contains(content, "@everyone") || strings.Contains(content, "@here")
}

// parses reports whether raw, the value of allowed_mentions, allows a kind of mentions. Without
// allowed_mentions, all kinds are allowed.
func parses(raw json.RawMessage, kind string) bool {
	if raw == nil {
		return true
	}
	var allowed struct{ Parse []string }
	_ = json.Unmarshal(raw, &allowed)
	return strings.Contains(strings.Join(allowed.Parse, " "), kind)
}

func readEmbed(f *call.Form, raw json.RawMessage) model.Embed {
	e := model.Embed{}
	if !f.IsObject() {
		return e
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		f.Fail("_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	e.Type = "rich"
	f.Text("title", 0, 256, &e.Title)
	f.Text("description", 0, 4096, &e.Description)
	f.Integer("color", 0, 0xffffff, 0, &e.Color)
	for _, key := range []string{"url"} {
		if e.URL != "" && !strings.HasPrefix(e.URL, "http") {
			f.Fail(key, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
		}
	}
	if e.Timestamp != "" {
		t, err := time.Parse(time.RFC3339, e.Timestamp)
		if err != nil {
			f.Fail("timestamp", "DATE_TIME_TYPE_PARSE", "Could not parse "+e.Timestamp+". Should be ISO8601.")
		}
		e.Timestamp = t.UTC().Format(model.TimeLayout)
	}
	readEmbedParts(f)
	return e
}

func readEmbedParts(f *call.Form) {
	ignored := ""
	for i, raw := range f.List("fields", 25) {
		sub := f.Sub("fields."+strconv.Itoa(i), raw)
		sub.Require("name")
		sub.Require("value")
		sub.Text("name", 0, 256, &ignored)
		sub.Text("value", 0, 1024, &ignored)
	}
	if f.Given("footer") {
		f.Sub("footer", f.Raw("footer")).Text("text", 0, 2048, &ignored)
	}
	if f.Given("author") {
		f.Sub("author", f.Raw("author")).Text("name", 0, 256, &ignored)
	}
}

// readForm reads JSON, a URL-encoded form, or payload_json of a multipart form, without files.
func readForm(c *call.Call) (*call.Form, error) {
	kind, _, _ := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	switch kind {
	case "multipart/form-data":
		r := c.Request.Clone(c.Request.Context())
		r.Body = io.NopCloser(bytes.NewReader(c.Body))
		if err := r.ParseMultipartForm(call.MaxBody); err != nil {
			return nil, call.ErrJSON
		}
		return call.ParseForm([]byte(r.PostFormValue("payload_json")))
	case "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(c.Body))
		if err != nil {
			return nil, call.ErrJSON
		}
		plain := map[string]string{}
		for k := range values {
			plain[k] = values.Get(k)
		}
		return call.ParseForm(model.JSON(plain))
	}
	return c.Object()
}
