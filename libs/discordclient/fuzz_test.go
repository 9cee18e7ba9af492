// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"encoding/json"
	"regexp"
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
			t.Error("a body that is not JSON was read")
		}
	})
}

var tokenChars = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

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
		if strings.Contains("webhooks/175928847299117063/"+user+before+redacted, secret) || !tokenChars.MatchString(secret) {
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
