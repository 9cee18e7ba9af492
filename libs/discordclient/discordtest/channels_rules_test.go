package discordtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

// leaf finds the text code of a nested error: errors.<path>._errors[0].code.
func leaf(a answer, path string) string {
	at, _ := a.json["errors"].(map[string]any)
	for _, key := range strings.Split(path, ".") {
		at, _ = at[key].(map[string]any)
	}
	list, _ := at["_errors"].([]any)
	if len(list) == 0 {
		return ""
	}
	first, _ := list[0].(map[string]any)
	code, _ := first["code"].(string)
	return code
}

// TestNormaliseName is the rule for the names of text-like channels.
func TestNormaliseName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"tokyo": "tokyo", "Tokyo Alarms": "tokyo-alarms", "a  -~ b": "a-b", "--a": "a", "a_b": "a_b", "what's up?!": "whats-up",
		"ÄÖÜ": "äöü", "東京": "東京", "🔥 fire": "🔥-fire", "a.b,c": "abc", " a ": "a", "!!!": "", "a$b+c=d": "abcd", "a\tb": "a-b",
	} {
		if got := discordtest.NormaliseName(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if again := discordtest.NormaliseName(want); again != want {
			t.Errorf("%q is not stable: %q", want, again)
		}
	}
}

// TestCreateFields is what a create takes and what it refuses.
func TestCreateFields(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("ü", n) }
	r := newRig(t, usual|discordtest.PermAdministrator, community)
	plain := newRig(t, usual)
	text := r.channel(obj{"name": "text"})
	group := r.channel(obj{"name": "Group", "type": 4})
	for name, tc := range map[string]struct {
		body  any
		path  string // of the nested error
		leaf  string
		code  int    // 0: created
		field string // of the answer
		want  any
		plain bool // in a guild without features
	}{
		"name is normalised":            {body: obj{"name": "Tokyo Alarms"}, field: "name", want: "tokyo-alarms"},
		"name of a category is kept":    {body: obj{"name": "Tokyo Alarms!", "type": 4}, field: "name", want: "Tokyo Alarms!"},
		"name of a voice channel":       {body: obj{"name": "The Hall", "type": 2}, field: "name", want: "The Hall"},
		"name twice":                    {body: obj{"name": "text"}, field: "name", want: "text"},
		"name of 100":                   {body: obj{"name": long(100)}, field: "name", want: long(100)},
		"name of 101":                   {body: obj{"name": long(101)}, code: 50035, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"name missing":                  {body: obj{}, code: 50035, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"name empty":                    {body: obj{"name": ""}, code: 50035, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"name of nothing but signs":     {body: obj{"name": "?!"}, code: 50035, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"name is a list":                {body: obj{"name": []int{1}}, code: 50035, path: "name", leaf: "STRING_TYPE_CONVERT"},
		"topic of 1024":                 {body: obj{"name": "a", "topic": long(1024)}, field: "topic", want: long(1024)},
		"topic of 1025":                 {body: obj{"name": "a", "topic": long(1025)}, code: 50035, path: "topic", leaf: "BASE_TYPE_MAX_LENGTH"},
		"topic of 4096 in a forum":      {body: obj{"name": "a", "type": 15, "topic": long(4096)}, field: "topic", want: long(4096)},
		"topic empty is null":           {body: obj{"name": "a", "topic": ""}, field: "topic", want: nil},
		"topic of a category":           {body: obj{"name": "a", "type": 4, "topic": "x"}, field: "topic", want: nil},
		"slow mode":                     {body: obj{"name": "a", "rate_limit_per_user": 21600}, field: "rate_limit_per_user", want: 21600.0},
		"slow mode too long":            {body: obj{"name": "a", "rate_limit_per_user": 21601}, code: 50035, path: "rate_limit_per_user", leaf: "NUMBER_TYPE_MAX"},
		"slow mode negative":            {body: obj{"name": "a", "rate_limit_per_user": -1}, code: 50035, path: "rate_limit_per_user", leaf: "NUMBER_TYPE_MIN"},
		"slow mode is a word":           {body: obj{"name": "a", "rate_limit_per_user": "soon"}, code: 50035, path: "rate_limit_per_user", leaf: "NUMBER_TYPE_COERCE"},
		"archive after a week":          {body: obj{"name": "a", "default_auto_archive_duration": 10080}, field: "default_auto_archive_duration", want: 10080.0},
		"archive after 61 minutes":      {body: obj{"name": "a", "default_auto_archive_duration": 61}, code: 50035, path: "default_auto_archive_duration", leaf: "BASE_TYPE_CHOICES"},
		"nsfw null is false":            {body: obj{"name": "a", "nsfw": nil}, field: "nsfw", want: false},
		"nsfw is a word":                {body: obj{"name": "a", "nsfw": "very"}, code: 50035, path: "nsfw", leaf: "BOOLEAN_TYPE_CONVERT"},
		"position negative":             {body: obj{"name": "a", "position": -1}, code: 50035, path: "position", leaf: "NUMBER_TYPE_MIN"},
		"type of a direct message":      {body: obj{"name": "a", "type": 1}, code: 50035, path: "type", leaf: "BASE_TYPE_CHOICES"},
		"announcement":                  {body: obj{"name": "a", "type": 5}, field: "type", want: 5.0},
		"announcement without NEWS":     {plain: true, body: obj{"name": "a", "type": 5}, code: 50035, path: "type", leaf: "BASE_TYPE_CHOICES"},
		"forum without COMMUNITY":       {plain: true, body: obj{"name": "a", "type": 15}, code: 50035, path: "type", leaf: "BASE_TYPE_CHOICES"},
		"in a category":                 {body: obj{"name": "a", "parent_id": group}, field: "parent_id", want: group},
		"parent is no category":         {body: obj{"name": "a", "parent_id": text}, code: 50035, path: "parent_id", leaf: "CHANNEL_PARENT_INVALID_TYPE"},
		"parent is unknown":             {body: obj{"name": "a", "parent_id": "1"}, code: 50035, path: "parent_id", leaf: "CHANNEL_PARENT_INVALID"},
		"parent is no id":               {body: obj{"name": "a", "parent_id": "x"}, code: 50035, path: "parent_id", leaf: "NUMBER_TYPE_COERCE"},
		"category in a category":        {body: obj{"name": "a", "type": 4, "parent_id": group}, code: 50035, path: "parent_id", leaf: "CHANNEL_PARENT_INVALID_PARENT"},
		"overwrite of nobody":           {body: obj{"name": "a", "permission_overwrites": []obj{{"id": "1", "type": 0}}}, code: 10009},
		"overwrite without id":          {body: obj{"name": "a", "permission_overwrites": []obj{{"type": 0}}}, code: 50035, path: "permission_overwrites.0.id", leaf: "BASE_TYPE_REQUIRED"},
		"overwrite with a wrong number": {body: obj{"name": "a", "permission_overwrites": []obj{{"id": "1", "allow": "x"}}}, code: 50035, path: "permission_overwrites.0.allow", leaf: "NUMBER_TYPE_COERCE"},
		"not JSON":                      {body: `{"name":`, code: 50109},
		"not an object":                 {body: `[]`, code: 50035, path: "_", leaf: "DICT_TYPE_CONVERT"},
		"unknown fields are ignored":    {body: obj{"name": "a", "colour": "red"}, field: "name", want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			if tc.plain {
				in = *plain
			}
			in.t = t
			got := in.do("POST", "/guilds/"+in.guild+"/channels", tc.body)
			if tc.code != 0 {
				if got.status/100 != 4 || got.code() != tc.code || tc.leaf != "" && leaf(got, tc.path) != tc.leaf {
					t.Errorf("got %d %s, want code %d and %s at %s", got.status, got.raw, tc.code, tc.leaf, tc.path)
				}
			} else if got.status != 201 || !cmp.Equal(got.json[tc.field], tc.want) {
				t.Errorf("got %d %s, want %s %v", got.status, got.raw, tc.field, tc.want)
			}
		})
	}
}

// TestAllFaultsAtOnce: Discord names every wrong field in one answer.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	got := r.must(400, "POST", "/guilds/"+r.guild+"/channels", obj{"nsfw": 3, "position": -1})
	for path, want := range map[string]string{"name": "BASE_TYPE_REQUIRED", "nsfw": "BOOLEAN_TYPE_CONVERT", "position": "NUMBER_TYPE_MIN"} {
		if leaf(got, path) != want {
			t.Errorf("%s: %q, want %q in %s", path, leaf(got, path), want, got.raw)
		}
	}
}

// TestEditFields is what an edit changes, clears and refuses.
func TestEditFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual|discordtest.PermAdministrator, community)
	group := r.channel(obj{"name": "Group", "type": 4})
	for name, tc := range map[string]struct {
		kind  int
		body  obj
		field string
		want  any
		code  int
	}{
		"name is normalised":      {body: obj{"name": "New Name"}, field: "name", want: "new-name"},
		"topic cleared by null":   {body: obj{"topic": nil}, field: "topic", want: nil},
		"topic cleared by \"\"":   {body: obj{"topic": ""}, field: "topic", want: nil},
		"parent cleared":          {body: obj{"parent_id": nil}, field: "parent_id", want: nil},
		"overwrites cleared":      {body: obj{"permission_overwrites": []obj{}}, field: "permission_overwrites", want: []any{}},
		"text to announcement":    {body: obj{"type": 5}, field: "type", want: 5.0},
		"announcement to text":    {kind: 5, body: obj{"type": 0}, field: "type", want: 0.0},
		"text to voice":           {body: obj{"type": 2}, code: 50035},
		"voice to text":           {kind: 2, body: obj{"type": 0}, code: 50035},
		"name null":               {body: obj{"name": nil}, code: 50035},
		"position is verbatim":    {body: obj{"position": 99}, field: "position", want: 99.0},
		"nothing at all":          {body: obj{}, field: "topic", want: "fire"},
		"what is absent is kept":  {body: obj{"nsfw": true}, field: "topic", want: "fire"},
		"bits come as text":       {body: obj{"permission_overwrites": []obj{{"id": r.guild, "deny": 1024}}}, field: "permission_overwrites", want: []any{obj{"id": r.guild, "type": 0.0, "allow": "0", "deny": "1024"}}},
		"bits as text are taken":  {body: obj{"permission_overwrites": []obj{{"id": r.guild, "type": 0, "allow": "2048"}}}, field: "permission_overwrites", want: []any{obj{"id": r.guild, "type": 0.0, "allow": "2048", "deny": "0"}}},
		"null bits are none":      {body: obj{"permission_overwrites": []obj{{"id": r.guild, "type": 0, "allow": nil, "deny": "1024"}}}, field: "permission_overwrites", want: []any{obj{"id": r.guild, "type": 0.0, "allow": "0", "deny": "1024"}}},
		"type is found by the id": {body: obj{"permission_overwrites": []obj{{"id": r.bot.UserID, "allow": "1024"}}}, field: "permission_overwrites", want: []any{obj{"id": r.bot.UserID, "type": 1.0, "allow": "1024", "deny": "0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.t = t
			id := in.channel(obj{"name": "old", "type": tc.kind, "topic": "fire", "parent_id": group, "permission_overwrites": []obj{{"id": r.guild, "deny": 2048}}})
			got := in.do("PATCH", "/channels/"+id, tc.body)
			if tc.code != 0 {
				if got.code() != tc.code {
					t.Errorf("got %s, want %d", got.raw, tc.code)
				}
			} else if d := cmp.Diff(tc.want, got.json[tc.field]); got.status != 200 || d != "" {
				t.Errorf("%d %s (-want +got):\n%s", got.status, tc.field, d)
			}
		})
	}
}

// TestQuantities fills what is limited, with small limits.
func TestQuantities(t *testing.T) {
	t.Parallel()
	small := func(o *discordtest.Options, _ *discordtest.GuildSpec) {
		o.Limits.Channels, o.Limits.ChannelsPerCategory, o.Limits.Categories = 8, 3, 2
		o.Limits.WebhooksPerChannel, o.Limits.WebhooksPerGuild = 2, 3
	}
	r := newRig(t, usual, small)
	path := "/guilds/" + r.guild + "/channels"
	group := r.channel(obj{"name": "A", "type": 4})
	r.channel(obj{"name": "B", "type": 4})
	if got := r.do("POST", path, obj{"name": "C", "type": 4}); got.status != 400 || got.code() != 30013 {
		t.Errorf("third category: %d %s", got.status, got.raw)
	}
	var ids []string
	for i := range 3 {
		ids = append(ids, r.channel(obj{"name": fmt.Sprint("in-", i), "parent_id": group}))
	}
	if got := r.do("POST", path, obj{"name": "in", "parent_id": group}); got.code() != 50035 || leaf(got, "parent_id") != "CHANNEL_PARENT_MAX_CHANNELS" {
		t.Errorf("fourth child: %s", got.raw)
	}
	out := r.channel(obj{"name": "out"})
	if got := r.do("PATCH", "/channels/"+out, obj{"parent_id": group}); leaf(got, "parent_id") != "CHANNEL_PARENT_MAX_CHANNELS" {
		t.Errorf("move of a fourth child: %s", got.raw)
	}
	r.channel(obj{"name": "out"})
	r.channel(obj{"name": "out"})
	if got := r.do("POST", path, obj{"name": "ninth"}); got.status != 400 || got.code() != 30013 {
		t.Errorf("ninth channel: %d %s", got.status, got.raw)
	}
	for _, id := range []string{ids[0], ids[0], ids[1]} {
		r.must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "hook"})
	}
	if got := r.do("POST", "/channels/"+ids[0]+"/webhooks", obj{"name": "hook"}); got.code() != 30007 {
		t.Errorf("third webhook of a channel: %s", got.raw)
	}
	if got := r.do("POST", "/channels/"+ids[1]+"/webhooks", obj{"name": "hook"}); got.code() != 30058 {
		t.Errorf("fourth webhook of the guild: %s", got.raw)
	}
}

// TestFiveHundred fills a guild to Discord's own limits.
func TestFiveHundred(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	for range 499 {
		r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "hall"})
	}
	r.channel(obj{"name": "last"})
	if got := r.do("POST", "/guilds/"+r.guild+"/channels", obj{"name": "more"}); got.code() != 30013 {
		t.Errorf("channel 501: %s", got.raw)
	}
}

// TestOverwriteLimit: a channel has room for so many overwrites, one that it has may still be changed.
func TestOverwriteLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.Limits.OverwritesPerChannel = 1 })
	path := "/channels/" + r.channel(obj{"name": "a"}) + "/permissions/"
	r.must(204, "PUT", path+r.guild, obj{"type": 0, "deny": "2048"})
	r.must(204, "PUT", path+r.guild, obj{"type": 0, "deny": "0"})
	if got := r.do("PUT", path+r.bot.UserID, obj{"type": 1}); got.status != 400 || got.code() != 30060 {
		t.Errorf("a second overwrite: %d %s", got.status, got.raw)
	}
}

// TestDeletion is what else happens when a channel goes.
func TestDeletion(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual|discordtest.PermAdministrator, community)
	group := r.channel(obj{"name": "Group", "type": 4})
	child := r.channel(obj{"name": "child", "parent_id": group, "position": 5})
	rules := r.channel(obj{"name": "rules"})
	r.must(200, "PATCH", "/guilds/"+r.guild, obj{"system_channel_id": child, "rules_channel_id": rules})
	hook := r.must(200, "POST", "/channels/"+child+"/webhooks", obj{"name": "hook"}).id()

	r.must(200, "DELETE", "/channels/"+group, nil)
	if c, ok := r.srv.Channel(child); !ok || c.ParentID != "" || c.Position != 5 {
		t.Errorf("child of a deleted category: %+v", c)
	}
	r.must(200, "DELETE", "/channels/"+child, nil)
	if got := r.do("GET", "/webhooks/"+hook, nil); got.status != 404 || got.code() != 10015 {
		t.Errorf("webhook of a deleted channel: %d %s", got.status, got.raw)
	}
	if got := r.must(200, "GET", "/guilds/"+r.guild, nil); got.json["system_channel_id"] != nil {
		t.Errorf("system channel is still %v", got.json["system_channel_id"])
	}
	if got := r.do("DELETE", "/channels/"+rules, nil); got.code() != 50074 {
		t.Errorf("rules channel of a Community guild: %s", got.raw)
	}
	if got := r.do("PATCH", "/channels/"+rules, obj{"type": 5}); got.code() != 50086 {
		t.Errorf("rules channel made an announcement channel: %s", got.raw)
	}
	if got := r.do("DELETE", "/channels/"+child, nil); got.status != 404 || got.code() != 10003 {
		t.Errorf("deleted twice: %d %s", got.status, got.raw)
	}
}
