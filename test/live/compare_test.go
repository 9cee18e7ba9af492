// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	get := key{step: "create", caller: "client", call: "GET /channels/{channel_id}", subject: "alerts"}
	again := get
	again.step = "edit"
	for name, c := range map[string]struct {
		expected, real recording
		want           []string // rows of the table
	}{
		"the recordings are equal": {recording{get: {statusField: "200", "name": `"a"`}},
			recording{get: {statusField: "200", "name": `"a"`}}, nil},
		"a value differs in two steps": {
			recording{get: {statusField: "200", "nsfw": "true"}, again: {statusField: "200", "nsfw": "true"}},
			recording{get: {statusField: "200", "nsfw": "false"}, again: {statusField: "200", "nsfw": "false"}},
			[]string{"`nsfw` | `true` | `false` | create (alerts), edit (alerts)"}},
		"the expected recording lacks a field": {recording{get: {statusField: "200"}},
			recording{get: {statusField: "200", "icon": "null"}},
			[]string{"`icon` | `(absent)` | `null` | create (alerts)"}},
		"an error instead of an object": {
			recording{get: {statusField: "200", "name": `"a"`}}, recording{get: {statusField: "403", "code": "50001"}},
			[]string{"`(status)` | `200` | `403` | create (alerts)", "`code` | `(absent)` | `50001` | create (alerts)"}},
		"the real recording lacks a call": {recording{get: {statusField: "200", "name": `"a"`}}, recording{},
			[]string{"`(status)` | `200` | `(not made)` | create (alerts)"}},
		"a missing entry is one row": {
			recording{get: {statusField: "200", "entry": present, "entry.id": "string"}}, recording{get: {statusField: "200"}},
			[]string{"`entry` | `present` | `(absent)` | create (alerts)"}},
		"the table escapes signs of Markdown": {recording{get: {statusField: "200", "a|b": "`"}}, recording{get: {statusField: "200", "a|b": ""}},
			[]string{"`a\\|b` | `'` | (empty) | create (alerts)"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for line := range strings.Lines(table("a Discord", compare(c.expected, c.real))) {
				if row, ok := strings.CutPrefix(line, "| `GET /channels/{channel_id}` | "); ok {
					got = append(got, strings.TrimSuffix(row, " |\n"))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Recordings contain no private values and no random values.
func TestAnswerFields(t *testing.T) {
	own := newTerritory("100000000000000001", "jutsu-live-1a2b")
	own.setBot("100000000000000002")
	own.add("100000000000000003", categoryName)
	own.add("100000000000000004", "alerts")
	own.add("100000000000000005", "webhook")
	for name, c := range map[string]struct {
		path, answer string
		status       int
		want         fields
	}{
		"a channel of the run": {"/channels/100000000000000004", `{"id": "100000000000000004", "name": "jutsu-live-1a2b-alerts",
			"parent_id": "100000000000000003", "position": 7, "nsfw": true, "topic": null,
			"permission_overwrites": [{"id": "100000000000000001", "deny": "1024"}]}`, http.StatusOK,
			fields{"id": `"<alerts>"`, "name": `"live-alerts"`, "parent_id": `"<category>"`, "position": "number",
				"nsfw": "true", "topic": "null", "permission_overwrites[<server>].id": `"<server>"`,
				"permission_overwrites[<server>].deny": `"1024"`}},
		"a webhook of the run": {"/webhooks/100000000000000005", `{"id": "100000000000000005", "token": "t0p", "url": "https://t0p",
			"application_id": "100000000000000009", "user": {"id": "100000000000000002", "username": "Private"}}`, http.StatusOK,
			fields{"id": `"<webhook>"`, "token": "<secret>", "url": "<secret>", "application_id": `"<id>"`,
				"user.id": "string", "user.username": "string"}},
		"the server": {"/guilds/100000000000000001", `{"id": "100000000000000001", "name": "Private", "roles": [{"name": "Private"}]}`,
			http.StatusOK, fields{"id": "string", "name": "string", "roles": "array"}},
		"a list with a channel outside the run": {"/guilds/100000000000000001/channels",
			`[{"id": "100000000000000009", "name": "private"}, {"id": "100000000000000004", "last_pin": "2026-11-25T21:55:21.000Z"}]`,
			http.StatusOK, fields{"[<alerts>].id": `"<alerts>"`, "[<alerts>].last_pin": `"<time>"`}},
		"the audit log": {"/guilds/100000000000000001/audit-logs", `{"users": [{"username": "Private"}], "audit_log_entries": [
			{"target_id": "100000000000000009", "action_type": 12},
			{"target_id": "100000000000000004", "action_type": 10, "changes": [{"key": "name", "new_value": "private"}]}]}`,
			http.StatusOK, fields{"users": "array", "audit_log_entries": "array", "audit_log_entries[action 10]": present,
				"audit_log_entries[action 10].target_id": "string", "audit_log_entries[action 10].action_type": "number",
				"audit_log_entries[action 10].changes": "array", "audit_log_entries[action 10].changes[name].new_value": "string"}},
		"an error": {"/channels/100000000000000009", `{"code": 10003, "message": "Unknown Channel"}`, http.StatusNotFound,
			fields{"code": "10003", "message": `"Unknown Channel"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := own.answerFields(newCall("GET", c.path, nil), c.status, http.Header{}, parsed(t, c.answer))
			for field := range got {
				if strings.HasPrefix(field, "(") {
					delete(got, field)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
