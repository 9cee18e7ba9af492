// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestAltered(t *testing.T) {
	t.Parallel()
	alter := func(community bool) *rig.Rig {
		return rig.New(t, rig.Usual, func(o *discordtest.Options, g *discordtest.GuildSpec) {
			g.Features = []string{"NEWS"}
			if community {
				g.Features = []string{"COMMUNITY"}
			}
			o.Altered = discordtest.Altered{
				Topic:                func(s string) string { return strings.ReplaceAll(s, "\n\n\n", "\n\n") },
				AnnouncementSlowmode: true, Locale: true, Description: true, CommunityChannels: true, Icon: true,
			}
		})
	}
	r, community := alter(false), alter(true)
	rules := r.Channel(rig.Obj{"name": "rules", "type": 0})
	ofCommunity := community.Channel(rig.Obj{"name": "rules", "type": 0})
	for name, tc := range map[string]struct {
		r          *rig.Rig
		kind       int
		send, want obj
	}{
		"the server stores a topic with fewer line breaks":           {r, 0, obj{"topic": "a\n\n\nb"}, obj{"topic": "a\n\nb"}},
		"slowmode of an announcement channel is ignored":             {r, 5, obj{"rate_limit_per_user": 5}, obj{"rate_limit_per_user": 0.0}},
		"slowmode of a text channel is stored":                       {r, 0, obj{"rate_limit_per_user": 5}, obj{"rate_limit_per_user": 5.0}},
		"locale and description are ignored without Community":       {r, -1, obj{"preferred_locale": "ja", "description": "x"}, obj{"preferred_locale": "en-US", "description": nil}},
		"locale and description of a Community guild are stored":     {community, -1, obj{"preferred_locale": "ja", "description": "x"}, obj{"preferred_locale": "ja", "description": "x"}},
		"the rules channel is ignored without Community":             {r, -1, obj{"rules_channel_id": rules}, obj{"rules_channel_id": nil}},
		"the rules channel of a Community guild is stored":           {community, -1, obj{"rules_channel_id": ofCommunity, "features": []string{"COMMUNITY"}}, obj{"rules_channel_id": ofCommunity}},
		"an edit without COMMUNITY does not set the updates channel": {community, -1, obj{"public_updates_channel_id": ofCommunity}, obj{"public_updates_channel_id": nil}},
		"an invalid icon is ignored":                                 {r, -1, obj{"icon": "data:image/png;base64,eA=="}, obj{"icon": nil}},
		"a new name of a guild is stored":                            {r, -1, obj{"name": "Kyoto"}, obj{"name": "Kyoto"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := *tc.r
			in.T = t
			path := "/guilds/" + in.Guild
			if tc.kind >= 0 {
				made := in.Channel(rig.Obj{"name": "a", "type": tc.kind})
				path = "/channels/" + made
			}
			answer, stored := in.Must(200, "PATCH", path, tc.send).JSON, in.Must(200, "GET", path, nil).JSON
			for key, want := range tc.want {
				if d := cmp.Diff(want, answer[key]) + cmp.Diff(want, stored[key]); d != "" {
					t.Errorf("%s (-want +got):\n%s", key, d)
				}
			}
		})
	}
}

func TestCompatible(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.Compatible = true })
	guild := "/guilds/" + r.Guild
	made := r.Must(201, "POST", guild+"/channels", obj{"name": "a", "nsfw": true, "rate_limit_per_user": 5}, "X-Audit-Log-Reason", "uid")
	path := "/channels/" + made.ID()
	locked := r.Channel(rig.Obj{"name": "locked", "permission_overwrites": []obj{
		{"id": r.Bot.UserID, "type": 1, "allow": "1024"}, {"id": r.Guild, "type": 0, "deny": "1024"},
	}})
	if _, ok := made.JSON["position"]; ok {
		t.Errorf("created with a position: %s", made.Raw)
	}
	if listed := r.Must(200, "GET", guild+"/channels", nil).List[0].(obj); listed["position"] != 0.0 {
		t.Errorf("listed %v", listed)
	}
	if made.JSON["nsfw"] != true || made.JSON["rate_limit_per_user"] != 5.0 {
		t.Errorf("created %s", made.Raw)
	}
	for name, tc := range map[string]struct {
		method, path string
		body         any
		status, code int
	}{
		"unknown channel":              {"GET", "/channels/1", nil, 404, 404},
		"unknown guild":                {"GET", "/guilds/1", nil, 404, 404},
		"a create with an empty name":  {"POST", guild + "/channels", obj{"name": ""}, 400, 400},
		"a create with parent_id null": {"POST", guild + "/channels", obj{"name": "b", "parent_id": nil}, 500, 500},
		"an edit to parent_id null":    {"PATCH", path, obj{"parent_id": nil}, 500, 500},
		"a call without permission":    {"PATCH", "/channels/" + locked, obj{"topic": "t"}, 400, 50013},
		"an empty audit log":           {"GET", guild + "/audit-logs", nil, 200, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.T = t
			got := in.Do(tc.method, tc.path, tc.body)
			if got.Status != tc.status || got.Code() != tc.code {
				t.Errorf("got %d %s, want %d with %d", got.Status, got.Raw, tc.status, tc.code)
			}
			if list, ok := got.JSON["audit_log_entries"].([]any); ok && len(list) != 0 {
				t.Errorf("audit log %v", list)
			}
		})
	}
	if got := r.As("Bot wrong", "GET", "/users/@me", nil); got.Status != 401 || got.Code() != 401 {
		t.Errorf("a wrong token: %d %s", got.Status, got.Raw)
	}
	got := r.Must(200, "PATCH", path, obj{"topic": "t", "nsfw": false, "rate_limit_per_user": 9})
	if got.JSON["topic"] != "t" || got.JSON["nsfw"] != true || got.JSON["rate_limit_per_user"] != 5.0 {
		t.Errorf("an edit answers %s", got.Raw)
	}
	for _, settings := range []rig.Answer{
		r.Must(200, "PATCH", guild, obj{"name": "Kyoto", "description": "school"}), r.Must(200, "GET", guild, nil),
	} {
		if _, ok := settings.JSON["roles"]; ok || settings.JSON["description"] != nil || settings.JSON["name"] != "Kyoto" {
			t.Errorf("settings %s", settings.Raw)
		}
	}
	if got := r.Must(200, "GET", guild+"/roles", nil).List; len(got) != 2 {
		t.Errorf("roles %v", got)
	}
}

func TestOwnMember(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	role := r.Srv.AddRole(r.Guild, "Sensei", 0)
	r.Srv.GiveRole(r.Guild, r.Bot.UserID, role)
	got := r.Must(200, "GET", "/guilds/"+r.Guild+"/members/"+r.Bot.UserID, nil)
	own := r.Srv.Guild(r.Guild).Members[r.Bot.UserID].Roles
	if d := cmp.Diff([]any{own[0], role}, got.JSON["roles"]); d != "" || got.JSON["user"].(obj)["id"] != r.Bot.UserID {
		t.Errorf("(-want +got):\n%s%s", d, got.Raw)
	}
	if got := r.Do("GET", "/guilds/"+r.Srv.AddGuild(discordtest.GuildSpec{}).ID+"/members/"+r.Bot.UserID, nil); got.Code() != 10004 {
		t.Errorf("in a guild of others: %d %s", got.Status, got.Raw)
	}
}
