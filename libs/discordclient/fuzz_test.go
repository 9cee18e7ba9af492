package discordclient

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzErrorBody(f *testing.F) {
	for _, seed := range []string{
		`{"code":50035,"message":"Invalid Form Body","errors":{"name":{"_errors":[{"code":"BASE_TYPE_REQUIRED","message":"This field is required"}]}}}`,
		`{"code":50035,"errors":{"permission_overwrites":{"0":{"allow":{"_errors":[{"code":1,"message":"x"}]}}}}}`,
		`{"errors":{"_errors":[{"message":"https://discord.com/api/webhooks/1/abcdef"}]}}`, `{"errors":[]}`, `{"errors":{"a":{"_errors":{}}}}`,
		`{"code":"x"}`, `<html>`, `null`, `[]`, strings.Repeat(`{"errors":{"a":`, 100),
	} {
		f.Add([]byte(seed))
	}
	long, complaint := strings.Repeat("x", 400), strings.Repeat(`{"code":"`+strings.Repeat("y", 400)+`","message":"`+strings.Repeat("z", 400)+`"},`, 30)
	f.Add([]byte(`{"code":1,"errors":` + strings.Repeat(`{"`+long+`":`, maxFieldDepth) + `{"_errors":[` + complaint + `{}]}` + strings.Repeat("}", maxFieldDepth) + `}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		code, message, fields, ok := parseErrorBody(body)
		e := &Error{Class: classify(400, code, fields, true), Op: "fuzz", Status: 400, Code: code, Message: message, Fields: fields}
		text := e.Error()
		if n := utf8.RuneCountInString(text); len(fields) > maxFields || n > 32768 {
			t.Errorf("%d fields, %d characters: more than a condition's message may have", len(fields), n)
		}
		if strings.ContainsAny(text, "\n\r\x1b") || !utf8.ValidString(text) {
			t.Errorf("not fit for a log line: %q", text)
		}
		if ok != json.Valid(body) && ok {
			t.Error("what is no JSON was read")
		}
	})
}

// Whatever the Gateway sends as an event, the hub neither panics nor ends up with a view that contradicts itself.
func FuzzDispatch(f *testing.F) {
	for event := range handlers {
		f.Add(event, []byte(`{"id":"1","guild_id":"1","channel_id":"5","role_id":"1","role":{"id":"3","permissions":"8"},"user":{"id":"9"},"guilds":[{"id":"1"}],`+
			`"roles":[],"channels":[{"id":"5","type":0,"name":"a","permission_overwrites":[{"id":"1","type":0,"allow":"0","deny":"1024"},null]}],"members":[{"user":{"id":"9"}}]}`))
	}
	f.Add("CHANNEL_CREATE", []byte(`{"id":"","guild_id":"1"}`))
	f.Add("GUILD_DELETE", []byte(`{"id":"1","unavailable":true}`))
	f.Fuzz(func(t *testing.T, event string, data []byte) {
		o, _, err := Options{Token: NewSecret("token")}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		h := newHub(&o)
		view, _ := h.want("1")
		h.Connecting()
		h.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
		h.Dispatch("GUILD_CREATE", []byte(`{"id":"1","roles":[{"id":"1","permissions":"1024"}],"channels":[{"id":"5","type":4}]}`), false)
		h.Dispatch(event, data, false)
		h.Dispatch(event, data, true)
		s := view.Snapshot()
		for i, c := range s.Channels() {
			if got, ok := s.Channel(c.ID); !ok || got != c {
				t.Errorf("channel %q is in the list and not found", c.ID)
			}
			if i > 0 && CompareIDs(s.Channels()[i-1].ID, c.ID) >= 0 {
				t.Errorf("channels are out of order at %q", c.ID)
			}
			_, _ = s.BotPermissionsIn(c)
		}
		_, _ = s.Categories(), s.Children("")
		h.Disconnected(nil)
	})
}

// What looks like a token is hidden although nobody says that it is one, and what is said to be one whatever it looks like.
func FuzzRedact(f *testing.F) {
	f.Add("https://discord.com/api/", "to-ken_1", "?wait=true")
	f.Add("webhooks%2F1%2F", "x", "")
	f.Add("MTc1OTI4ODQ3Mjk5MTE3MDYz.GxYzAb.", "abcdefghijklmnopqrstuvwxyz-_0123456789", " and more")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 4 || strings.Contains(redacted, secret) || strings.Contains(before+after, secret) || strings.Contains(before+redacted+after, secret) {
			t.Skip()
		}
		if got := redact(before+secret+after, NewSecret(secret)); strings.Contains(got, secret) {
			t.Errorf("%q, which is said to be a secret, is still in %q", secret, got)
		}
		const user = "MTc1OTI4ODQ3Mjk5MTE3MDYz.GxYzAb."
		if strings.Contains("webhooks/175928847299117063/"+user+before+redacted, secret) || !webhookChars.MatchString(secret) {
			t.Skip()
		}
		for _, known := range []string{"webhooks/175928847299117063/", "webhooks%2f175928847299117063%2F"} {
			if got := redact(before + known + secret + "?" + after); strings.Contains(got, secret) {
				t.Errorf("%q, a webhook's token, is still in %q", secret, got)
			}
		}
		if got := redact(before + " " + user + secret + " " + after); len(secret) >= 20 && strings.Contains(got, secret) {
			t.Errorf("%q, the last part of a bot's token, is still in %q", secret, got)
		}
	})
}
