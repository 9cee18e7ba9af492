// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"strings"
	"testing"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestWebhookFields(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	path := "/channels/" + r.Channel(obj{"name": "a"}) + "/webhooks"
	for name, tc := range map[string]struct {
		body       obj
		want       string
		path, leaf string
	}{
		"name is trimmed":                     {body: obj{"name": "  alert "}, want: "alert"},
		"white space in the name is squeezed": {body: obj{"name": "two  \t words"}, want: "two words"},
		"name of 80 characters":               {body: obj{"name": strings.Repeat("a", 80)}, want: strings.Repeat("a", 80)},
		"name of 81 characters":               {body: obj{"name": strings.Repeat("a", 81)}, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"no name":                             {body: obj{}, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"name with discord":                   {body: obj{"name": "my DisCord"}, path: "name", leaf: "USERNAME_INVALID_CONTAINS"},
		"name with clyde":                     {body: obj{"name": "Clyde"}, path: "name", leaf: "USERNAME_INVALID_CONTAINS"},
		"avatar":                              {body: obj{"name": "a", "avatar": rig.TinyPNG}, want: "a"},
		"avatar is no image":                  {body: obj{"name": "a", "avatar": "x"}, path: "avatar", leaf: "IMAGE_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.T = t
			got := in.Do("POST", path, tc.body)
			if tc.leaf != "" {
				if got.Code() != 50035 || rig.Leaf(got, tc.path) != tc.leaf {
					t.Errorf("got %s", got.Raw)
				}
			} else if got.Status != 200 || got.JSON["name"] != tc.want {
				t.Errorf("got %d %s", got.Status, got.Raw)
			}
		})
	}
}

func TestWebhookSecrets(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	id := r.Channel(obj{"name": "a"})
	made := r.Must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "a"})
	token, _ := made.JSON["token"].(string)
	if made.JSON["url"] != r.Srv.URL()+"/api/webhooks/"+made.ID()+"/"+token || len(token) != 68 {
		t.Errorf("made %s", made.Raw)
	}
	other := r.Srv.AddBot(discordtest.Bot{})
	r.Srv.AddMember(r.Guild, other.UserID, discordtest.PermManageWebhooks)
	for name, tc := range map[string]struct {
		auth, path string
		secret     bool
		status     int
	}{
		"the bot reads its webhook":                 {"Bot " + r.Bot.Token, "/webhooks/" + made.ID(), true, 200},
		"another bot reads the webhook":             {"Bot " + other.Token, "/webhooks/" + made.ID(), false, 200},
		"a client with the token reads the webhook": {"", "/webhooks/" + made.ID() + "/" + token, true, 200},
		"a wrong token is refused":                  {"", "/webhooks/" + made.ID() + "/wrong", false, 401},
		"an unknown webhook is not found":           {"", "/webhooks/1/wrong", false, 404},
		"the bot lists its webhooks":                {"Bot " + r.Bot.Token, "/guilds/" + r.Guild + "/webhooks", true, 200},
		"another bot lists the webhooks":            {"Bot " + other.Token, "/channels/" + id + "/webhooks", false, 200},
	} {
		got := r.As(tc.auth, "GET", tc.path, nil)
		if got.Status != tc.status || strings.Contains(string(got.Raw), token) != tc.secret {
			t.Errorf("%s: %d %s", name, got.Status, got.Raw)
		}
	}
	if got := r.As("", "GET", "/webhooks/"+made.ID()+"/"+token, nil); got.JSON["user"] != nil {
		t.Errorf("by token the creator is named: %s", got.Raw)
	}
	for _, q := range r.Srv.Requests() {
		if strings.Contains(q.Path, token) || q.Header.Get("Authorization") != "" {
			t.Errorf("a secret was recorded: %s %v", q.Path, q.Header)
		}
	}
}

func TestWebhookMove(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	a, b, group := r.Channel(obj{"name": "a"}), r.Channel(obj{"name": "b"}), r.Channel(obj{"name": "G", "type": 4})
	w := r.Must(200, "POST", "/channels/"+a+"/webhooks", obj{"name": "w"})
	if got := r.Must(200, "PATCH", "/webhooks/"+w.ID(), obj{"channel_id": b}); got.JSON["channel_id"] != b || got.JSON["token"] != w.JSON["token"] {
		t.Errorf("moved %s", got.Raw)
	}
	if got := r.Do("PATCH", "/webhooks/"+w.ID(), obj{"channel_id": group}); got.Code() != 50024 {
		t.Errorf("into a category: %s", got.Raw)
	}
	if got := r.Do("PATCH", "/webhooks/"+w.ID(), obj{"channel_id": "1"}); got.Status != 404 {
		t.Errorf("into nowhere: %s", got.Raw)
	}
	if got := r.As("", "PATCH", "/webhooks/"+w.ID()+"/"+w.JSON["token"].(string), obj{"channel_id": a}); got.JSON["channel_id"] != b {
		t.Errorf("moved by token: %s", got.Raw)
	}
	if got := r.Do("POST", "/channels/"+group+"/webhooks", obj{"name": "w"}); got.Code() != 50024 {
		t.Errorf("made in a category: %s", got.Raw)
	}
}
