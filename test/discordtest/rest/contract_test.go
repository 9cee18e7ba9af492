// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/contract"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

// TestContract checks every route except DELETE /guilds/{guild_id} against the OpenAPI description.
func TestContract(t *testing.T) {
	t.Parallel()
	c := contract.FromEnv(t)
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator, rig.Community)
	r.Client = &http.Client{Transport: c.Transport(http.DefaultTransport, func(v contract.Violation) { t.Error(v) })}
	g := "/guilds/" + r.Guild
	group := r.Must(201, "POST", g+"/channels", obj{"name": "Alerts", "type": 4, "position": 1}).ID()
	ch := r.Must(201, "POST", g+"/channels", obj{"name": "tokyo", "type": 0, "parent_id": group, "topic": "fire", "nsfw": true,
		"rate_limit_per_user": 60, "default_auto_archive_duration": 1440,
		"permission_overwrites": []obj{{"id": r.Guild, "type": 0, "allow": 0, "deny": 1024}}}, "X-Audit-Log-Reason", "because").ID()
	r.Srv.EditGuildByHand(r.Guild, func(g *discordtest.Guild) { g.Emojis = []string{"1234567"} })
	r.Must(201, "POST", g+"/channels", obj{"name": "news", "type": 5})
	for kind, name := range map[int]string{2: "Voice", 13: "Stage"} {
		id := r.Must(201, "POST", g+"/channels", obj{"name": name, "type": kind}).ID()
		r.Must(200, "PATCH", "/channels/"+id, obj{"bitrate": 64000, "user_limit": 5, "rtc_region": "rotterdam", "video_quality_mode": 2})
	}
	for kind, name := range map[int]string{15: "forum", 16: "media"} {
		id := r.Must(201, "POST", g+"/channels", obj{"name": name, "type": kind, "topic": "guidelines",
			"available_tags":         []obj{{"name": "bug", "emoji_name": "🐛", "moderated": false}, {"name": "idea", "emoji_id": "1234567"}},
			"default_reaction_emoji": obj{"emoji_name": "✅"}, "default_sort_order": 1, "default_thread_rate_limit_per_user": 5}).ID()
		made, _ := r.Srv.Channel(id)
		r.Must(200, "PATCH", "/channels/"+id, obj{"flags": 16, "default_forum_layout": 1, "default_sort_order": nil,
			"default_reaction_emoji": nil, "available_tags": []obj{{"id": made.Tags[0].ID, "name": "defect"}}})
	}
	r.Must(200, "PATCH", "/channels/"+ch, obj{"name": "kyoto", "topic": nil, "parent_id": nil, "permission_overwrites": []obj{}})
	r.Must(204, "PATCH", g+"/channels", []obj{{"id": ch, "position": 3, "parent_id": group, "lock_permissions": true}})
	r.Must(204, "PUT", "/channels/"+ch+"/permissions/"+r.Guild, obj{"type": 0, "allow": 2048, "deny": 0})
	r.Must(204, "DELETE", "/channels/"+ch+"/permissions/"+r.Guild, nil)

	role := r.Must(200, "POST", g+"/roles", obj{"name": "On call", "permissions": "1024", "hoist": true, "mentionable": true,
		"colors": obj{"primary_color": 1, "secondary_color": nil, "tertiary_color": nil}}, "X-Audit-Log-Reason", "because").ID()
	r.Must(200, "PATCH", g+"/roles/"+role, obj{"name": "Off duty", "color": 2, "hoist": nil, "permissions": nil})
	r.Must(200, "PATCH", g+"/roles", []obj{{"id": role, "position": 1}, {"id": r.Srv.CreateRoleByHand(r.Guild, discordtest.Role{Name: "Booster", Booster: true}), "position": 1}})
	user := r.Srv.AddUser("Yuji")
	r.Srv.AddMember(r.Guild, user, 0)
	member := g + "/members/" + user + "/roles/" + role
	r.Must(204, "PUT", member, nil)
	r.Must(204, "DELETE", member, nil)

	hook := r.Must(200, "POST", "/channels/"+ch+"/webhooks", obj{"name": "alertmanager"})
	w, secret := "/webhooks/"+hook.ID(), "/webhooks/"+hook.ID()+"/"+hook.JSON["token"].(string)
	r.Must(200, "PATCH", w, obj{"name": "prometheus", "channel_id": ch})
	r.Must(200, "PATCH", secret, obj{"name": "alertmanager"})
	r.Must(204, "POST", secret, obj{"content": "hello"})
	msg := r.Must(200, "POST", secret+"?wait=true", obj{"username": "Alertmanager", "embeds": []obj{{"title": "Down", "description": "all of it",
		"url": "https://example.com", "color": 255, "timestamp": "2026-08-01T12:00:00Z", "footer": obj{"text": "f"}, "author": obj{"name": "a"},
		"fields": []obj{{"name": "n", "value": "v", "inline": true}}}}}).ID()
	r.Must(200, "PATCH", secret+"/messages/"+msg, obj{"content": "edited"})
	own := r.Must(200, "POST", "/channels/"+ch+"/messages", obj{"content": "by the bot"}).ID()
	for _, path := range []string{"/gateway", "/gateway/bot", "/users/@me", "/users/@me/guilds?with_counts=true", "/applications/@me",
		"/oauth2/applications/@me", g, g + "?with_counts=true", g + "/roles", g + "/roles/" + role, g + "/members/" + r.Bot.UserID, g + "/audit-logs?limit=100", g + "/webhooks",
		g + "/channels", "/channels/" + ch, "/channels/" + group, "/channels/" + ch + "/webhooks", w, secret, secret + "/messages/" + msg,
		"/channels/" + ch + "/messages", "/channels/" + ch + "/messages/" + own} {
		r.Must(200, "GET", path, nil)
	}
	r.Must(200, "PATCH", g, obj{"name": "Kyoto Jujutsu High", "description": "school", "verification_level": 2, "default_message_notifications": 1,
		"explicit_content_filter": 2, "afk_timeout": 900, "system_channel_id": ch, "system_channel_flags": 3, "preferred_locale": "de", "icon": rig.TinyPNG})
	r.Must(204, "DELETE", "/channels/"+ch+"/messages/"+own, nil)
	r.Must(204, "DELETE", secret+"/messages/"+msg, nil)
	r.Must(204, "DELETE", secret, nil)
	r.Must(204, "DELETE", "/webhooks/"+r.Must(200, "POST", "/channels/"+ch+"/webhooks", obj{"name": "second"}).ID(), nil)
	r.Must(200, "DELETE", "/channels/"+ch, nil)
	r.Must(204, "DELETE", g+"/roles/"+role, nil)
	r.Must(204, "DELETE", "/users/@me/guilds/"+r.Guild, nil)

	want := slices.DeleteFunc(discordtest.Routes(), func(s string) bool { return s == "DELETE /guilds/{guild_id}" })
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(r.Srv.RequestCounts()))); d != "" {
		t.Errorf("routes without a success here (-want +got):\n%s", d)
	}
}
