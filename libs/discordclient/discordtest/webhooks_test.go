package discordtest_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

// TestWebhookFields is what a webhook may be called.
func TestWebhookFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	path := "/channels/" + r.channel(obj{"name": "a"}) + "/webhooks"
	for name, tc := range map[string]struct {
		body       obj
		want       string
		path, leaf string
	}{
		"trimmed":          {body: obj{"name": "  alert "}, want: "alert"},
		"squeezed":         {body: obj{"name": "two  \t words"}, want: "two words"},
		"80":               {body: obj{"name": strings.Repeat("a", 80)}, want: strings.Repeat("a", 80)},
		"81":               {body: obj{"name": strings.Repeat("a", 81)}, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"none":             {body: obj{}, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"discord":          {body: obj{"name": "my DisCord"}, path: "name", leaf: "USERNAME_INVALID_CONTAINS"},
		"clyde":            {body: obj{"name": "Clyde"}, path: "name", leaf: "USERNAME_INVALID_CONTAINS"},
		"avatar":           {body: obj{"name": "a", "avatar": tinyPNG}, want: "a"},
		"avatar not image": {body: obj{"name": "a", "avatar": "x"}, path: "avatar", leaf: "IMAGE_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.t = t
			got := in.do("POST", path, tc.body)
			if tc.leaf != "" {
				if got.code() != 50035 || leaf(got, tc.path) != tc.leaf {
					t.Errorf("got %s", got.raw)
				}
			} else if got.status != 200 || got.json["name"] != tc.want {
				t.Errorf("got %d %s", got.status, got.raw)
			}
		})
	}
}

// TestWebhookSecrets: token and URL are for the application that made the webhook, and for those who know them.
func TestWebhookSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	id := r.channel(obj{"name": "a"})
	made := r.must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "a"})
	token, _ := made.json["token"].(string)
	if made.json["url"] != r.srv.URL()+"/api/webhooks/"+made.id()+"/"+token || len(token) != 68 {
		t.Errorf("made %s", made.raw)
	}
	other := r.srv.AddBot(discordtest.Bot{})
	r.srv.AddMember(r.guild, other.UserID, discordtest.PermManageWebhooks)
	for name, tc := range map[string]struct {
		auth, path string
		secret     bool
		status     int
	}{
		"own, one":         {"Bot " + r.bot.Token, "/webhooks/" + made.id(), true, 200},
		"other's, one":     {"Bot " + other.Token, "/webhooks/" + made.id(), false, 200},
		"by token":         {"", "/webhooks/" + made.id() + "/" + token, true, 200},
		"by wrong token":   {"", "/webhooks/" + made.id() + "/wrong", false, 401},
		"unknown by token": {"", "/webhooks/1/wrong", false, 404},
		"own, list":        {"Bot " + r.bot.Token, "/guilds/" + r.guild + "/webhooks", true, 200},
		"other's, list":    {"Bot " + other.Token, "/channels/" + id + "/webhooks", false, 200},
	} {
		got := r.as(tc.auth, "GET", tc.path, nil)
		if got.status != tc.status || strings.Contains(string(got.raw), token) != tc.secret {
			t.Errorf("%s: %d %s", name, got.status, got.raw)
		}
	}
	if got := r.as("", "GET", "/webhooks/"+made.id()+"/"+token, nil); got.json["user"] != nil {
		t.Errorf("by token the creator is told: %s", got.raw)
	}
	for _, q := range r.srv.Requests() {
		if strings.Contains(q.Path, token) || q.Header.Get("Authorization") != "" {
			t.Errorf("a secret was recorded: %s %v", q.Path, q.Header)
		}
	}
}

// TestWebhookMove moves a webhook to another channel.
func TestWebhookMove(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	a, b, group := r.channel(obj{"name": "a"}), r.channel(obj{"name": "b"}), r.channel(obj{"name": "G", "type": 4})
	w := r.must(200, "POST", "/channels/"+a+"/webhooks", obj{"name": "w"})
	if got := r.must(200, "PATCH", "/webhooks/"+w.id(), obj{"channel_id": b}); got.json["channel_id"] != b || got.json["token"] != w.json["token"] {
		t.Errorf("moved %s", got.raw)
	}
	if got := r.do("PATCH", "/webhooks/"+w.id(), obj{"channel_id": group}); got.code() != 50024 {
		t.Errorf("into a category: %s", got.raw)
	}
	if got := r.do("PATCH", "/webhooks/"+w.id(), obj{"channel_id": "1"}); got.status != 404 {
		t.Errorf("into nowhere: %s", got.raw)
	}
	if got := r.as("", "PATCH", "/webhooks/"+w.id()+"/"+w.json["token"].(string), obj{"channel_id": a}); got.json["channel_id"] != b {
		t.Errorf("moved by token: %s", got.raw)
	}
	if got := r.do("POST", "/channels/"+group+"/webhooks", obj{"name": "w"}); got.code() != 50024 {
		t.Errorf("made in a category: %s", got.raw)
	}
}

// TestExecute is what may be said through a webhook, and through which paths: Alertmanager uses the one without version.
func TestExecute(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	id := r.channel(obj{"name": "a"})
	w := r.srv.CreateWebhookByHand(id, "Hook")
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
		"content":                 {body: obj{"content": "hello"}},
		"nothing":                 {body: obj{}, code: 50006},
		"2000":                    {body: obj{"content": strings.Repeat("a", 2000)}},
		"2001":                    {body: obj{"content": strings.Repeat("a", 2001)}, code: 50035, path: "content", leaf: "BASE_TYPE_MAX_LENGTH"},
		"ten embeds":              {body: obj{"embeds": many(10)}},
		"eleven embeds":           {body: obj{"embeds": many(11)}, code: 50035, path: "embeds", leaf: "BASE_TYPE_MAX_LENGTH"},
		"long title":              {body: obj{"embeds": []obj{{"title": strings.Repeat("a", 257)}}}, code: 50035, path: "embeds.0.title", leaf: "BASE_TYPE_MAX_LENGTH"},
		"long description":        {body: obj{"embeds": []obj{{"description": strings.Repeat("a", 4097)}}}, code: 50035, path: "embeds.0.description", leaf: "BASE_TYPE_MAX_LENGTH"},
		"field without value":     {body: obj{"embeds": []obj{{"fields": []obj{{"name": "n"}}}}}, code: 50035, path: "embeds.0.fields.0.value", leaf: "BASE_TYPE_REQUIRED"},
		"link that is none":       {body: obj{"embeds": []obj{{"url": "x"}}}, code: 50035, path: "embeds.0.url", leaf: "URL_TYPE_INVALID_URL"},
		"time that is none":       {body: obj{"embeds": []obj{{"timestamp": "x"}}}, code: 50035, path: "embeds.0.timestamp", leaf: "DATE_TIME_TYPE_PARSE"},
		"embeds too long in all":  {body: obj{"embeds": []obj{{"description": strings.Repeat("a", 4000)}, {"description": strings.Repeat("a", 2001)}}}, code: 50035, path: "embeds", leaf: "MAX_EMBED_SIZE_EXCEEDED"},
		"embeds of 6000":          {body: obj{"embeds": []obj{{"description": strings.Repeat("a", 4000)}, {"description": strings.Repeat("a", 2000)}}}},
		"embeds without anything": {body: obj{"embeds": []obj{{}, {}}}, code: 50006},
		"another name":            {body: obj{"content": "x", "username": "Alertmanager"}},
		"the name everyone":       {body: obj{"content": "x", "username": "Everyone"}, code: 50035, path: "username", leaf: "USERNAME_INVALID"},
		"a name with discord":     {body: obj{"content": "x", "username": "discord bot"}, code: 50035, path: "username", leaf: "USERNAME_INVALID_CONTAINS"},
		"a name of 81 characters": {body: obj{"content": "x", "username": strings.Repeat("a", 81)}, code: 50035, path: "username", leaf: "BASE_TYPE_BAD_LENGTH"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.t = t
			got := in.as("", "POST", path+"?wait=true", tc.body)
			if tc.code != 0 && (got.code() != tc.code || tc.leaf != "" && leaf(got, tc.path) != tc.leaf) || tc.code == 0 && got.status != 200 {
				t.Errorf("got %d %s", got.status, got.raw)
			}
		})
	}
	before := len(r.srv.Guild(r.guild).Messages[id])
	for _, prefix := range []string{"/api", "/api/v9", "/api/v10"} {
		res, err := http.Post(r.srv.URL()+prefix+path, "application/json", strings.NewReader(`{"content":"from Alertmanager"}`))
		check(t, err)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Errorf("%s: %s", prefix, res.Status)
		}
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	check(t, form.WriteField("payload_json", `{"content":"with a file"}`))
	check(t, form.Close())
	res, err := http.Post(r.srv.URL()+"/api"+path, form.FormDataContentType(), &body)
	check(t, err)
	_ = res.Body.Close()
	all := r.srv.Guild(r.guild).Messages[id]
	if len(all) != before+4 || all[len(all)-1].Content != "with a file" || all[len(all)-1].AuthorName != "Hook" {
		t.Errorf("%d messages, the last %+v", len(all)-before, all[len(all)-1])
	}
}

// TestExecuteIntoAForum needs a thread, and there are none here.
func TestExecuteIntoAForum(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual, community)
	w := r.srv.CreateWebhookByHand(r.channel(obj{"name": "forum", "type": 15}), "Hook")
	if got := r.as("", "POST", "/webhooks/"+w.ID+"/"+w.Token, obj{"content": "x"}); got.status != 400 || got.code() != 220001 {
		t.Errorf("got %d %s", got.status, got.raw)
	}
}

// TestMessages reads messages as a bot: newest first, a page at a time.
func TestMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	id := r.channel(obj{"name": "a"})
	user := r.srv.AddUser("gojo")
	var ids []string
	for _, s := range []string{"one", "two", "three"} {
		ids = append(ids, r.srv.PostByHand(id, user, s))
	}
	contents := func(query string) string {
		var out []string
		for _, m := range r.must(200, "GET", "/channels/"+id+"/messages"+query, nil).list {
			out = append(out, m.(obj)["content"].(string))
		}
		return strings.Join(out, " ")
	}
	for query, want := range map[string]string{"": "three two one", "?limit=1": "three", "?before=" + ids[1]: "one", "?after=" + ids[0]: "three two", "?after=" + ids[0] + "&limit=1": "two"} {
		if got := contents(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if c, _ := r.srv.Channel(id); c.LastMessageID != ids[2] {
		t.Errorf("last message %s", c.LastMessageID)
	}
	if got := r.do("DELETE", "/channels/"+id+"/messages/"+ids[0], nil); got.code() != 50013 {
		t.Errorf("deleting what a person wrote: %s", got.raw)
	}
	if got := r.do("GET", "/channels/"+id+"/messages/1", nil); got.code() != 10008 {
		t.Errorf("an unknown message: %s", got.raw)
	}
}
