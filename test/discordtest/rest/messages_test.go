// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"jutsu.com/operators/test/discordtest/internal/rig"
)

// Alertmanager executes a webhook by its URL, whose path has no API version.
func TestExecute(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	id := r.Channel(obj{"name": "a"})
	w := r.Srv.CreateWebhookByHand(id, "Hook")
	path := "/webhooks/" + w.ID + "/" + w.Token
	many := func(n int) (out []obj) {
		for range n {
			out = append(out, obj{"title": "t"})
		}
		return out
	}
	for name, tc := range map[string]struct {
		body       obj
		code       int
		path, leaf string
	}{
		"content":                          {body: obj{"content": "hello"}},
		"empty message":                    {body: obj{}, code: 50006},
		"content of 2000 characters":       {body: obj{"content": strings.Repeat("a", 2000)}},
		"content of 2001 characters":       {body: obj{"content": strings.Repeat("a", 2001)}, code: 50035, path: "content", leaf: "BASE_TYPE_MAX_LENGTH"},
		"ten embeds":                       {body: obj{"embeds": many(10)}},
		"eleven embeds":                    {body: obj{"embeds": many(11)}, code: 50035, path: "embeds", leaf: "BASE_TYPE_MAX_LENGTH"},
		"title of 257 characters":          {body: obj{"embeds": []obj{{"title": strings.Repeat("a", 257)}}}, code: 50035, path: "embeds.0.title", leaf: "BASE_TYPE_MAX_LENGTH"},
		"description of 4097 characters":   {body: obj{"embeds": []obj{{"description": strings.Repeat("a", 4097)}}}, code: 50035, path: "embeds.0.description", leaf: "BASE_TYPE_MAX_LENGTH"},
		"field without value":              {body: obj{"embeds": []obj{{"fields": []obj{{"name": "n"}}}}}, code: 50035, path: "embeds.0.fields.0.value", leaf: "BASE_TYPE_REQUIRED"},
		"invalid link":                     {body: obj{"embeds": []obj{{"url": "x"}}}, code: 50035, path: "embeds.0.url", leaf: "URL_TYPE_INVALID_URL"},
		"invalid time":                     {body: obj{"embeds": []obj{{"timestamp": "x"}}}, code: 50035, path: "embeds.0.timestamp", leaf: "DATE_TIME_TYPE_PARSE"},
		"embeds of 6001 characters in all": {body: obj{"embeds": []obj{{"description": strings.Repeat("a", 4000)}, {"description": strings.Repeat("a", 2001)}}}, code: 50035, path: "embeds", leaf: "MAX_EMBED_SIZE_EXCEEDED"},
		"embeds of 6000 characters in all": {body: obj{"embeds": []obj{{"description": strings.Repeat("a", 4000)}, {"description": strings.Repeat("a", 2000)}}}},
		"empty embeds":                     {body: obj{"embeds": []obj{{}, {}}}, code: 50006},
		"name of the author":               {body: obj{"content": "x", "username": "Alertmanager"}},
		"the name everyone":                {body: obj{"content": "x", "username": "Everyone"}, code: 50035, path: "username", leaf: "USERNAME_INVALID"},
		"a name with discord":              {body: obj{"content": "x", "username": "discord bot"}, code: 50035, path: "username", leaf: "USERNAME_INVALID_CONTAINS"},
		"a name of 81 characters":          {body: obj{"content": "x", "username": strings.Repeat("a", 81)}, code: 50035, path: "username", leaf: "BASE_TYPE_BAD_LENGTH"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.T = t
			got := in.As("", "POST", path+"?wait=true", tc.body)
			if tc.code != 0 && (got.Code() != tc.code || tc.leaf != "" && rig.Leaf(got, tc.path) != tc.leaf) || tc.code == 0 && got.Status != 200 {
				t.Errorf("got %d %s", got.Status, got.Raw)
			}
		})
	}
	before := len(r.Srv.Guild(r.Guild).Messages[id])
	for _, prefix := range []string{"/api", "/api/v9", "/api/v10"} {
		res, err := http.Post(r.Srv.URL()+prefix+path, "application/json", strings.NewReader(`{"content":"from Alertmanager"}`))
		rig.Check(t, err)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Errorf("%s: %s", prefix, res.Status)
		}
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	rig.Check(t, form.WriteField("payload_json", `{"content":"with a file"}`))
	rig.Check(t, form.Close())
	res, err := http.Post(r.Srv.URL()+"/api"+path, form.FormDataContentType(), &body)
	rig.Check(t, err)
	_ = res.Body.Close()
	all := r.Srv.Guild(r.Guild).Messages[id]
	if len(all) != before+4 || all[len(all)-1].Content != "with a file" || all[len(all)-1].AuthorName != "Hook" {
		t.Errorf("%d messages, the last %+v", len(all)-before, all[len(all)-1])
	}
}

func TestExecuteIntoAForum(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, rig.Community)
	w := r.Srv.CreateWebhookByHand(r.Channel(obj{"name": "forum", "type": 15}), "Hook")
	if got := r.As("", "POST", "/webhooks/"+w.ID+"/"+w.Token, obj{"content": "x"}); got.Status != 400 || got.Code() != 220001 {
		t.Errorf("got %d %s", got.Status, got.Raw)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	id := r.Channel(obj{"name": "a"})
	user := r.Srv.AddUser("gojo")
	var ids []string
	for _, s := range []string{"one", "two", "three"} {
		ids = append(ids, r.Srv.PostByHand(id, user, s))
	}
	contents := func(query string) string {
		var out []string
		for _, m := range r.Must(200, "GET", "/channels/"+id+"/messages"+query, nil).List {
			out = append(out, m.(obj)["content"].(string))
		}
		return strings.Join(out, " ")
	}
	for query, want := range map[string]string{"": "three two one", "?limit=1": "three", "?before=" + ids[1]: "one", "?after=" + ids[0]: "three two", "?after=" + ids[0] + "&limit=1": "two"} {
		if got := contents(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if c, _ := r.Srv.Channel(id); c.LastMessageID != ids[2] {
		t.Errorf("last message %s", c.LastMessageID)
	}
	if got := r.Do("DELETE", "/channels/"+id+"/messages/"+ids[0], nil); got.Code() != 50013 {
		t.Errorf("deleting what a user wrote: %s", got.Raw)
	}
	if got := r.Do("GET", "/channels/"+id+"/messages/1", nil); got.Code() != 10008 {
		t.Errorf("an unknown message: %s", got.Raw)
	}
}
