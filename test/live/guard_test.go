// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func parsed(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// G is the server; C, A, R and W are objects of the run; X is an object of another user.
func TestRefusal(t *testing.T) {
	ids := strings.NewReplacer("{G}", "1001", "{C}", "1002", "{A}", "1003", "{R}", "1004", "{W}", "1005", "{X}", "1009")
	own := newTerritory("1001", "jutsu-live-1a2b")
	for id, name := range map[string]string{"1002": categoryName, "1003": "alerts", "1004": "role", "1005": "webhook"} {
		own.add(id, name)
	}
	for call, want := range map[string]string{
		`GET /guilds/{G}/channels`: "",
		`GET /channels/{X}`:        "",
		`POST /guilds/{G}/channels {"name": "jutsu-live-1a2b", "type": 4}`:                        "",
		`POST /guilds/{G}/channels {"name": "jutsu-live-1a2b-a", "parent_id": "{C}"}`:             "",
		`POST /guilds/{G}/channels {"name": "jutsu-live-1a2b-a"}`:                                 "a channel outside of the category",
		`POST /guilds/{G}/channels {"name": "jutsu-live-1a2b-a", "parent_id": "{X}"}`:             "an object of others",
		`POST /guilds/{G}/channels {"name": "alerts", "parent_id": "{C}"}`:                        "a name without the prefix jutsu-live-1a2b",
		`POST /guilds/{X}/channels {"name": "jutsu-live-1a2b", "type": 4}`:                        "another server",
		`PATCH /channels/{A} {"topic": "x"}`:                                                      "",
		`PATCH /channels/{A} {"parent_id": "{C}"}`:                                                "",
		`PATCH /channels/{A} {"parent_id": null}`:                                                 "a channel outside of the category",
		`PATCH /channels/{A} {"parent_id": "{X}"}`:                                                "an object of others",
		`PATCH /channels/{X} {"topic": "x"}`:                                                      "an object of others",
		`PATCH /guilds/{G}/channels [{"id": "{A}", "position": 1}]`:                               "",
		`PATCH /guilds/{G}/channels [{"id": "{A}", "position": 1}, {"id": "{X}", "position": 2}]`: "an object of others",
		`PATCH /guilds/{G}/channels [{"id": "{A}", "parent_id": "{X}"}]`:                          "an object of others",
		`PATCH /guilds/{G}/channels [{"id": "{A}", "parent_id": null}]`:                           "a channel outside of the category",
		`PATCH /guilds/{G}/channels {}`:                                                           "a move without a list",
		`DELETE /channels/{A}`:                                                                    "",
		`DELETE /channels/{X}`:                                                                    "an object of others",
		`PUT /channels/{A}/permissions/{R} {}`:                                                    "",
		`PUT /channels/{X}/permissions/{R} {}`:                                                    "an object of others",
		`DELETE /channels/{X}/permissions/{R}`:                                                    "an object of others",
		`POST /channels/{A}/webhooks {"name": "alertmanager"}`:                                    "",
		`POST /channels/{X}/webhooks {"name": "alertmanager"}`:                                    "an object of others",
		`PATCH /webhooks/{W} {"name": "x"}`:                                                       "",
		`DELETE /webhooks/{X}`:                                                                    "an object of others",
		`POST /guilds/{G}/roles {"name": "jutsu-live-1a2b-role"}`:                                 "",
		`POST /guilds/{G}/roles {"name": "admins"}`:                                               "a name without the prefix jutsu-live-1a2b",
		`PATCH /guilds/{G}/roles/{R} {}`:                                                          "",
		`PATCH /guilds/{G}/roles/{X} {}`:                                                          "an object of others",
		`DELETE /guilds/{G}/roles/{X}`:                                                            "an object of others",
		`PATCH /guilds/{G}/roles [{"id": "{X}", "position": 1}]`:                                  "an object of others",
		`PATCH /guilds/{G} {"name": "x"}`:                                                         "no call of this program",
		`DELETE /guilds/{G}`:                                                                      "no call of this program",
		`PUT /guilds/{G}/members/1008/roles/{R}`:                                                  "no call of this program",
		`POST /channels/{A}/messages {"content": "x"}`:                                            "no call of this program",
		`POST /webhooks/{W}/secret {"content": "x"}`:                                              "no call of this program",
		`DELETE /users/@me/guilds/{G}`:                                                            "no call of this program",
		`PATCH /channels/{A}/../../channels/{X} {"topic": "x"}`:                                   "no call of this program",
	} {
		t.Run(call, func(t *testing.T) {
			method, rest, _ := strings.Cut(ids.Replace(call), " ")
			path, body, _ := strings.Cut(rest, " ")
			if got := own.refusal(newCall(method, path, []byte(body))); got != want {
				t.Errorf("refusal is %q, want %q", got, want)
			}
		})
	}
}

func TestLearn(t *testing.T) {
	own := newTerritory("1001", "jutsu-live-1a2b")
	own.learn(newCall("POST", "/guilds/1001/channels", nil), parsed(t, `{"id": "1002", "name": "jutsu-live-1a2b"}`))
	own.learn(newCall("GET", "/guilds/1001/channels", nil), parsed(t, `[{"id": "1003", "name": "jutsu-live-1a2b-alerts"},
		{"id": "1004", "name": "jutsu-live-of-others"}, {"id": "1005", "name": "general"}]`))
	own.learn(newCall("GET", "/channels/1003/webhooks", nil), parsed(t, `[{"id": "1006", "name": "any"}]`))
	own.learn(newCall("GET", "/channels/1005/webhooks", nil), parsed(t, `[{"id": "1007", "name": "any"}]`))
	own.learn(newCall("GET", "/channels/1008", nil), parsed(t, `{"id": "1008", "name": "jutsu-live-1a2b-moved"}`))
	for id, want := range map[string]string{"1002": categoryName, "1003": "alerts", "1006": "webhook", "1004": "", "1005": "",
		"1007": "", "1008": ""} {
		if got, _ := own.own(id); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
}
