package discordtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

const (
	manage = discordtest.PermManageChannels
	view   = discordtest.PermViewChannel
	roles  = discordtest.PermManageRoles
)

// TestPermissions is who may do what.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const none = discordtest.Permissions(1) // something that asks for nothing here
	for name, tc := range map[string]struct {
		have         discordtest.Permissions
		method, path string
		body         any
		status, code int
		hidden       bool // @everyone cannot see the channel
	}{
		"create without":              {none, "POST", "/guilds/{g}/channels", obj{"name": "a"}, 403, 50013, false},
		"create, and a wrong form":    {none, "POST", "/guilds/{g}/channels", obj{"name": ""}, 403, 50013, false},
		"create with":                 {manage, "POST", "/guilds/{g}/channels", obj{"name": "a"}, 201, 0, false},
		"administrator may all":       {discordtest.PermAdministrator, "DELETE", "/channels/{c}", nil, 200, 0, true},
		"read a hidden one":           {manage, "GET", "/channels/{c}", nil, 403, 50001, true},
		"edit a hidden one":           {manage, "PATCH", "/channels/{c}", obj{"name": "b"}, 403, 50001, true},
		"list includes hidden ones":   {none, "GET", "/guilds/{g}/channels", nil, 200, 0, true},
		"edit without":                {none, "PATCH", "/channels/{c}", obj{"name": "b"}, 403, 50013, false},
		"overwrites without roles":    {manage, "PATCH", "/channels/{c}", obj{"permission_overwrites": []obj{}}, 403, 50013, false},
		"hand out what one has":       {manage | roles, "PATCH", "/channels/{c}", obj{"permission_overwrites": []obj{{"id": "{g}", "deny": "1024"}}}, 200, 0, false},
		"hand out what one has not":   {manage | roles, "PATCH", "/channels/{c}", obj{"permission_overwrites": []obj{{"id": "{g}", "deny": "2"}}}, 403, 50013, false},
		"hand out MANAGE_ROLES":       {manage | roles, "POST", "/guilds/{g}/channels", obj{"name": "a", "permission_overwrites": []obj{{"id": "{g}", "allow": "268435456"}}}, 403, 50013, false},
		"MANAGE_ROLES by an admin":    {discordtest.PermAdministrator, "POST", "/guilds/{g}/channels", obj{"name": "a", "permission_overwrites": []obj{{"id": "{g}", "allow": "268435456"}}}, 201, 0, false},
		"put overwrite without":       {manage, "PUT", "/channels/{c}/permissions/{g}", obj{"type": 0}, 403, 50013, false},
		"put overwrite with":          {roles, "PUT", "/channels/{c}/permissions/{g}", obj{"type": 0, "deny": "1024"}, 204, 0, false},
		"put overwrite of nobody":     {roles, "PUT", "/channels/{c}/permissions/1", obj{"type": 0}, 404, 10009, false},
		"delete no overwrite":         {roles, "DELETE", "/channels/{c}/permissions/1", nil, 404, 10009, false},
		"delete without":              {none, "DELETE", "/channels/{c}", nil, 403, 50013, false},
		"webhook without":             {manage, "POST", "/channels/{c}/webhooks", obj{"name": "a"}, 403, 50013, false},
		"webhook list without":        {manage, "GET", "/channels/{c}/webhooks", nil, 403, 50013, false},
		"audit log without":           {manage, "GET", "/guilds/{g}/audit-logs", nil, 403, 50013, false},
		"guild without":               {manage, "PATCH", "/guilds/{g}", obj{"name": "ab"}, 403, 50013, false},
		"COMMUNITY needs an admin":    {discordtest.PermManageGuild, "PATCH", "/guilds/{g}", obj{"features": []string{"COMMUNITY"}}, 403, 50013, false},
		"COMMUNITY by an admin":       {discordtest.PermAdministrator, "PATCH", "/guilds/{g}", obj{"features": []string{"COMMUNITY"}, "rules_channel_id": "{c}", "public_updates_channel_id": "{d}"}, 200, 0, false},
		"COMMUNITY without channels":  {discordtest.PermAdministrator, "PATCH", "/guilds/{g}", obj{"features": []string{"COMMUNITY"}}, 400, 50035, false},
		"positions without":           {none, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "position": 2}}, 403, 50013, false},
		"positions of what is hidden": {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "position": 2}}, 204, 0, true},
		"a new parent needs sight":    {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "parent_id": "{k}"}}, 403, 50001, true},
		"a new parent":                {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "parent_id": "{k}"}}, 204, 0, false},
		"lock needs MANAGE_ROLES":     {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "lock_permissions": true}}, 403, 50013, false},
		"two parents in one":          {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "parent_id": "{k}"}, {"id": "{d}", "parent_id": "{k}"}}, 400, 40009, false},
		"positions of an unknown one": {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "1", "position": 2}}, 404, 10003, false},
		"positions without a list":    {manage, "PATCH", "/guilds/{g}/channels", obj{"id": "1"}, 400, 50035, false},
		"an unknown channel":          {manage, "GET", "/channels/1", nil, 404, 10003, false},
		"an unknown guild":            {manage, "GET", "/guilds/1", nil, 404, 10004, false},
		"a guild of others":           {manage, "GET", "/guilds/{o}", nil, 404, 10004, false},
		"an id that is none":          {manage, "GET", "/channels/nonsense", nil, 400, 50035, false},
		"creating a guild":            {manage, "POST", "/guilds", obj{"name": "ab"}, 403, 20001, false},
		"deleting a guild":            {manage, "DELETE", "/guilds/{g}", nil, 403, 20001, false},
		"an unknown member":           {manage, "GET", "/guilds/{g}/members/{x}", nil, 404, 10007, false},
		"an unknown user":             {manage, "GET", "/guilds/{g}/members/1", nil, 404, 10013, false},
		"an unknown route":            {manage, "GET", "/nonsense", nil, 404, 0, false},
		"a wrong method":              {manage, "PUT", "/channels/{c}", nil, 405, 0, false},
		"a message into a hidden one": {none, "POST", "/channels/{c}/messages", obj{"content": "x"}, 403, 50001, true},
		"a message without SEND":      {none, "POST", "/channels/{m}/messages", obj{"content": "x"}, 403, 50013, false},
		"in a hidden category":        {manage, "POST", "/guilds/{g}/channels", obj{"name": "a", "parent_id": "{h}"}, 403, 50001, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tc.have)
			deny := []discordtest.Overwrite{{ID: r.guild, Deny: view}}
			add := func(c discordtest.Channel) string { return r.srv.CreateChannelByHand(r.guild, c) }
			c := discordtest.Channel{Name: "c"}
			if tc.hidden {
				c.Overwrites = deny
			}
			fill := replacer("{g}", r.guild, "{c}", add(c), "{d}", add(discordtest.Channel{Name: "d"}), "{k}", add(discordtest.Channel{Name: "K", Type: 4}),
				"{m}", add(discordtest.Channel{Name: "m", Overwrites: []discordtest.Overwrite{{ID: r.guild, Deny: discordtest.PermSendMessages}}}),
				"{h}", add(discordtest.Channel{Name: "H", Type: 4, Overwrites: deny}), "{o}", r.srv.AddGuild(discordtest.GuildSpec{}).ID, "{x}", r.srv.AddUser("x"))
			got := r.do(tc.method, fill.text(tc.path), fill.body(t, tc.body))
			if got.status != tc.status || got.code() != tc.code {
				t.Errorf("got %d %s, want %d with %d", got.status, got.raw, tc.status, tc.code)
			}
		})
	}
}

// TestTwoFactor: a guild that asks for it refuses bots of owners without.
func TestTwoFactor(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual, func(_ *discordtest.Options, g *discordtest.GuildSpec) { g.MFALevel = 1 })
	lax := r.srv.AddBot(discordtest.Bot{OwnerWithout2FA: true})
	r.srv.AddMember(r.guild, lax.UserID, usual)
	r.must(201, "POST", "/guilds/"+r.guild+"/channels", obj{"name": "a"})
	if got := r.as("Bot "+lax.Token, "POST", "/guilds/"+r.guild+"/channels", obj{"name": "a"}); got.status != 403 || got.code() != 60003 {
		t.Errorf("got %d %s", got.status, got.raw)
	}
}

// TestAuthorization is how a call proves who makes it.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	for name, tc := range map[string]struct {
		auth, agent, path string
		status, code      int
	}{
		"right":            {"Bot " + r.bot.Token, "DiscordBot (x, 1)", "/users/@me", 200, 0},
		"wrong token":      {"Bot x.y.z", "DiscordBot (x, 1)", "/users/@me", 401, 0},
		"no prefix":        {r.bot.Token, "DiscordBot (x, 1)", "/users/@me", 401, 0},
		"none":             {"", "DiscordBot (x, 1)", "/users/@me", 401, 0},
		"none where open":  {"", "curl", "/gateway", 200, 0},
		"other user agent": {"Bot " + r.bot.Token, "curl/8", "/users/@me", 403, 40333},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.t = t
			got := in.as(tc.auth, "GET", tc.path, nil, "User-Agent", tc.agent)
			if got.status != tc.status || got.code() != tc.code {
				t.Errorf("got %d %s, want %d with %d", got.status, got.raw, tc.status, tc.code)
			}
			if tc.status == 401 && got.json["message"] != "401: Unauthorized" {
				t.Errorf("message %v", got.json["message"])
			}
		})
	}
	rotated, err := r.srv.RotateToken(r.bot.Token)
	check(t, err)
	if got := r.do("GET", "/users/@me", nil); got.status != 401 {
		t.Errorf("the old token is still good: %d", got.status)
	}
	if got := r.as("Bot "+rotated, "GET", "/users/@me", nil); got.id() != r.bot.UserID {
		t.Errorf("the new token: %d %s", got.status, got.raw)
	}
}

// TestSync: a channel without overwrites of its own takes its category's and follows them until it differs.
func TestSync(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual|discordtest.PermAdministrator)
	group := r.channel(obj{"name": "Group", "type": 4, "permission_overwrites": []obj{{"id": r.guild, "deny": "1024"}}})
	synced := r.channel(obj{"name": "synced", "parent_id": group})
	own := r.channel(obj{"name": "own", "parent_id": group, "permission_overwrites": []obj{}})
	r.must(204, "PUT", "/channels/"+group+"/permissions/"+r.guild, obj{"type": 0, "deny": "2048"})
	for id, want := range map[string][]discordtest.Overwrite{synced: {{ID: r.guild, Deny: 2048}}, own: nil} {
		c, _ := r.srv.Channel(id)
		if d := cmp.Diff(fmt.Sprint(want), fmt.Sprint(c.Overwrites)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, d)
		}
	}
	r.must(204, "PATCH", "/guilds/"+r.guild+"/channels", []obj{{"id": own, "lock_permissions": true, "parent_id": group}})
	if c, _ := r.srv.Channel(own); len(c.Overwrites) != 1 {
		t.Errorf("after lock_permissions: %+v", c.Overwrites)
	}
}

// TestGuildEdit is what the settings of a guild take.
func TestGuildEdit(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	text, voice := r.channel(obj{"name": "a"}), r.channel(obj{"name": "V", "type": 2})
	for name, tc := range map[string]struct {
		body       obj
		field      string
		want       any
		path, leaf string
	}{
		"name is trimmed":         {body: obj{"name": "  Kyoto "}, field: "name", want: "Kyoto"},
		"name too short":          {body: obj{"name": "K"}, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"name null":               {body: obj{"name": nil}, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"description":             {body: obj{"description": "school"}, field: "description", want: "school"},
		"description cleared":     {body: obj{"description": nil}, field: "description", want: nil},
		"verification":            {body: obj{"verification_level": 4}, field: "verification_level", want: 4.0},
		"verification too high":   {body: obj{"verification_level": 5}, path: "verification_level", leaf: "BASE_TYPE_CHOICES"},
		"notifications to all":    {body: obj{"default_message_notifications": 0}, field: "default_message_notifications", want: 0.0},
		"filter":                  {body: obj{"explicit_content_filter": 2}, field: "explicit_content_filter", want: 2.0},
		"AFK after 7 seconds":     {body: obj{"afk_timeout": 7}, path: "afk_timeout", leaf: "BASE_TYPE_CHOICES"},
		"AFK channel":             {body: obj{"afk_channel_id": voice}, field: "afk_channel_id", want: voice},
		"AFK channel is text":     {body: obj{"afk_channel_id": text}, path: "afk_channel_id", leaf: "CHANNEL_INVALID_TYPE"},
		"system channel":          {body: obj{"system_channel_id": text}, field: "system_channel_id", want: text},
		"system channel cleared":  {body: obj{"system_channel_id": nil}, field: "system_channel_id", want: nil},
		"system channel unknown":  {body: obj{"system_channel_id": "1"}, path: "system_channel_id", leaf: "CHANNEL_INVALID"},
		"system flags too many":   {body: obj{"system_channel_flags": 64}, path: "system_channel_flags", leaf: "NUMBER_TYPE_MAX"},
		"locale":                  {body: obj{"preferred_locale": "ja"}, field: "preferred_locale", want: "ja"},
		"locale unknown":          {body: obj{"preferred_locale": "tlh"}, path: "preferred_locale", leaf: "BASE_TYPE_CHOICES"},
		"icon that is no image":   {body: obj{"icon": "hello"}, path: "icon", leaf: "IMAGE_INVALID"},
		"a feature is fixed":      {body: obj{"features": []string{"VERIFIED", "INVITES_DISABLED"}}, field: "features", want: []any{"INVITES_DISABLED"}},
		"owner cannot be changed": {body: obj{"owner_id": "1"}, field: "name", want: "Kyoto"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.t = t
			in.srv.EditGuildByHand(in.guild, func(g *discordtest.Guild) { g.Name = "Kyoto" })
			got := in.do("PATCH", "/guilds/"+in.guild, tc.body)
			if tc.leaf != "" {
				if got.code() != 50035 || leaf(got, tc.path) != tc.leaf {
					t.Errorf("got %s, want %s at %s", got.raw, tc.leaf, tc.path)
				}
			} else if d := cmp.Diff(tc.want, got.json[tc.field]); got.status != 200 || d != "" {
				t.Errorf("%d %s (-want +got):\n%s", got.status, got.raw, d)
			}
		})
	}
	first := r.must(200, "PATCH", "/guilds/"+r.guild, obj{"icon": tinyPNG}).json["icon"]
	if hash, _ := first.(string); len(hash) != 32 {
		t.Errorf("icon reads back as %v, want a hash", first)
	}
}

// TestCommunity: announcement channels come and go with it.
func TestCommunity(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.PermAdministrator)
	path, id := "/guilds/"+r.guild, r.channel(obj{"name": "rules"})
	on := obj{"features": []string{"COMMUNITY", "INVITES_DISABLED"}, "rules_channel_id": id, "public_updates_channel_id": id}
	for _, tc := range []struct {
		edit obj
		want []any
		news int
	}{
		{obj{}, []any{}, 400},
		{on, []any{"COMMUNITY", "INVITES_DISABLED", "NEWS"}, 201},
		{obj{"features": []string{"INVITES_DISABLED"}}, []any{"INVITES_DISABLED"}, 400},
	} {
		if d := cmp.Diff(tc.want, r.must(200, "PATCH", path, tc.edit).json["features"]); d != "" {
			t.Errorf("after %v (-want +got):\n%s", tc.edit, d)
		}
		if got := r.do("POST", path+"/channels", obj{"name": "news", "type": 5}); got.status != tc.news {
			t.Errorf("after %v an announcement channel is answered with %d %s", tc.edit, got.status, got.raw)
		}
	}
}

// TestOwnGuilds: where bots may make guilds, they own them, do everything in them and delete them.
func TestOwnGuilds(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.AllowGuilds = true })
	made := r.must(201, "POST", "/guilds", obj{"name": "Kyoto"})
	if made.json["owner_id"] != r.bot.UserID || made.json["name"] != "Kyoto" {
		t.Errorf("made %s", made.raw)
	}
	r.must(201, "POST", "/guilds/"+made.id()+"/channels", obj{"name": "a"})
	r.must(400, "POST", "/guilds", obj{"name": "K"})
	if got := r.do("DELETE", "/guilds/"+r.guild, nil); got.code() != 50013 {
		t.Errorf("deleting the guild of another: %s", got.raw)
	}
	r.must(204, "DELETE", "/guilds/"+made.id(), nil)
	if got := r.do("GET", "/guilds/"+made.id(), nil); got.code() != 10004 {
		t.Errorf("deleted, but: %s", got.raw)
	}
}

// TestCalls: another process can read how many calls each route got.
func TestCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	r.must(200, "GET", "/users/@me", nil)
	res, err := http.Get(r.srv.URL() + "/calls")
	check(t, err)
	defer func() { _ = res.Body.Close() }()
	var got map[string]int
	check(t, json.NewDecoder(res.Body).Decode(&got))
	if d := cmp.Diff(map[string]int{"GET /users/@me": 1}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
