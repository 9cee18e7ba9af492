package discordtest_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/discordtest/contract"
)

// TestContract calls every route once with success and holds requests and answers against Discord's OpenAPI description.
// (Answers of all other tests, errors too, are held against it in rig.as.)
func TestContract(t *testing.T) {
	t.Parallel()
	c := contract.FromEnv(t)
	r := newRig(t, usual|discordtest.PermAdministrator, community)
	r.client = &http.Client{Transport: c.Transport(http.DefaultTransport, func(v contract.Violation) { t.Error(v) })}
	g := "/guilds/" + r.guild
	group := r.must(201, "POST", g+"/channels", obj{"name": "Alarms", "type": 4, "position": 1}).id()
	ch := r.must(201, "POST", g+"/channels", obj{"name": "tokyo", "type": 0, "parent_id": group, "topic": "fire", "nsfw": true,
		"rate_limit_per_user": 60, "default_auto_archive_duration": 1440,
		"permission_overwrites": []obj{{"id": r.guild, "type": 0, "allow": 0, "deny": 1024}}}, "X-Audit-Log-Reason", "because").id()
	for kind, name := range map[int]string{2: "Voice", 5: "news", 13: "Stage", 15: "forum"} {
		r.must(201, "POST", g+"/channels", obj{"name": name, "type": kind})
	}
	r.must(200, "PATCH", "/channels/"+ch, obj{"name": "kyoto", "topic": nil, "parent_id": nil, "permission_overwrites": []obj{}})
	r.must(204, "PATCH", g+"/channels", []obj{{"id": ch, "position": 3, "parent_id": group, "lock_permissions": true}})
	r.must(204, "PUT", "/channels/"+ch+"/permissions/"+r.guild, obj{"type": 0, "allow": 2048, "deny": 0})
	r.must(204, "DELETE", "/channels/"+ch+"/permissions/"+r.guild, nil)

	hook := r.must(200, "POST", "/channels/"+ch+"/webhooks", obj{"name": "alertmanager"})
	w, secret := "/webhooks/"+hook.id(), "/webhooks/"+hook.id()+"/"+hook.json["token"].(string)
	r.must(200, "PATCH", w, obj{"name": "prometheus", "channel_id": ch})
	r.must(200, "PATCH", secret, obj{"name": "alertmanager"})
	r.must(204, "POST", secret, obj{"content": "hello"})
	msg := r.must(200, "POST", secret+"?wait=true", obj{"username": "Alertmanager", "embeds": []obj{{"title": "Down", "description": "all of it",
		"url": "https://example.com", "color": 255, "timestamp": "2026-08-01T12:00:00Z", "footer": obj{"text": "f"}, "author": obj{"name": "a"},
		"fields": []obj{{"name": "n", "value": "v", "inline": true}}}}}).id()
	r.must(200, "PATCH", secret+"/messages/"+msg, obj{"content": "edited"})
	own := r.must(200, "POST", "/channels/"+ch+"/messages", obj{"content": "by the bot"}).id()
	for _, path := range []string{"/gateway", "/gateway/bot", "/users/@me", "/users/@me/guilds?with_counts=true", "/applications/@me",
		"/oauth2/applications/@me", g, g + "?with_counts=true", g + "/roles", g + "/members/" + r.bot.UserID, g + "/audit-logs?limit=100", g + "/webhooks",
		g + "/channels", "/channels/" + ch, "/channels/" + group, "/channels/" + ch + "/webhooks", w, secret, secret + "/messages/" + msg,
		"/channels/" + ch + "/messages", "/channels/" + ch + "/messages/" + own} {
		r.must(200, "GET", path, nil)
	}
	r.must(200, "PATCH", g, obj{"name": "Kyoto Jujutsu High", "description": "school", "verification_level": 2, "default_message_notifications": 1,
		"explicit_content_filter": 2, "afk_timeout": 900, "system_channel_id": ch, "system_channel_flags": 3, "preferred_locale": "de", "icon": tinyPNG})
	r.must(204, "DELETE", "/channels/"+ch+"/messages/"+own, nil)
	r.must(204, "DELETE", secret+"/messages/"+msg, nil)
	r.must(204, "DELETE", secret, nil)
	r.must(204, "DELETE", "/webhooks/"+r.must(200, "POST", "/channels/"+ch+"/webhooks", obj{"name": "second"}).id(), nil)
	r.must(200, "DELETE", "/channels/"+ch, nil)
	r.must(204, "DELETE", "/users/@me/guilds/"+r.guild, nil)

	want := slices.DeleteFunc(discordtest.Routes(), func(s string) bool { return s == "POST /guilds" || s == "DELETE /guilds/{guild_id}" })
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(r.srv.RequestCounts()))); d != "" {
		t.Errorf("routes without a success here (-want +got):\n%s", d)
	}
}

// tinyPNG is the start of an image as a data URI.
const tinyPNG = "data:image/png;base64,iVBORw0KGgo="

// community makes the guild a Community guild, which may have announcement channels, stages and forums.
func community(_ *discordtest.Options, g *discordtest.GuildSpec) {
	g.Features = []string{"COMMUNITY", "NEWS"}
}

// TestContractSeesFaults makes sure that the contract test can fail.
func TestContractSeesFaults(t *testing.T) {
	t.Parallel()
	c := contract.FromEnv(t)
	for name, tc := range map[string]struct {
		method, path, request, response string
		status                          int
		want                            []string
	}{
		"fine":                    {"GET", "/api/v10/gateway", "", `{"url":"wss://gateway.discord.gg"}`, 200, nil},
		"fine in v9":              {"GET", "/api/v9/gateway", "", `{"url":"wss://gateway.discord.gg"}`, 200, nil},
		"missing field":           {"GET", "/api/v10/gateway", "", `{}`, 200, []string{"response"}},
		"wrong type":              {"GET", "/api/v10/gateway", "", `{"url":7}`, 200, []string{"response"}},
		"error without message":   {"GET", "/api/v10/channels/1", "", `{"code":10003}`, 404, []string{"response"}},
		"empty name":              {"POST", "/api/v10/guilds/1/channels", `{"name":""}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"no name":                 {"POST", "/api/v10/guilds/1/channels", `{"type":0}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"slowmode too long":       {"POST", "/api/v10/guilds/1/channels", `{"name":"a","rate_limit_per_user":99999}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"misspelt request field":  {"POST", "/api/v10/guilds/1/channels", `{"name":"a","tpoic":"b"}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"of an element of a list": {"PATCH", "/api/v10/guilds/1/channels", `[{"id":"1","place":1}]`, ``, 204, []string{"request"}},
		"of one kind in a union":  {"PATCH", "/api/v10/channels/1", `{"name":"a","tpoic":"b"}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"of an overwrite":         {"PATCH", "/api/v10/channels/1", `{"permission_overwrites":[{"id":"1","type":0,"alow":"1"}]}`, `{"code":0,"message":""}`, 400, []string{"request"}},
		"misspelt answer field":   {"GET", "/api/v10/gateway", "", `{"url":"wss://gateway.discord.gg","ulr":""}`, 200, []string{"response"}},
		"misspelt error field":    {"GET", "/api/v10/channels/1", "", `{"code":10003,"message":"x","eror":1}`, 404, []string{"response"}},
		"200 for a create":        {"POST", "/api/v10/guilds/1/channels", `{"name":"a"}`, `{"id":"1","type":0,"guild_id":"1","name":"a","position":0,"flags":0}`, 200, []string{"response"}},
		"unknown path":            {"GET", "/api/v10/guilds/1/nonsense", "", `{}`, 200, []string{"request", "response"}},
		// The divergences that are known, and that they excuse nothing else.
		"codes as text":              {"POST", "/api/v10/guilds/1/channels", `{"name":"a"}`, `{"code":50035,"message":"x","errors":{"name":{"_errors":[{"code":"A","message":"b"}]}}}`, 400, nil},
		"codes as text, no message":  {"POST", "/api/v10/guilds/1/channels", `{"name":"a"}`, `{"code":50035,"message":"x","errors":{"name":{"_errors":[{"code":"A"}]}}}`, 400, []string{"response"}},
		"bits as text":               {"PUT", "/api/v10/channels/1/permissions/2", `{"type":0,"allow":"1024","deny":"0"}`, ``, 204, nil},
		"bits as words":              {"PUT", "/api/v10/channels/1/permissions/2", `{"type":0,"allow":"all"}`, ``, 204, []string{"request"}},
		"bits as text, a wrong type": {"PUT", "/api/v10/channels/1/permissions/2", `{"type":7,"allow":"1024"}`, ``, 204, []string{"request"}},
		"a proxy's 502":              {"GET", "/api/v10/gateway", "", `bad gateway`, 502, nil},
		"making a guild":             {"POST", "/api/v10/guilds", `{"name":"ab"}`, `{"code":20001,"message":"x"}`, 403, nil},
		"deleting a guild":           {"DELETE", "/api/v10/guilds/1", "", `{"code":20001,"message":"x"}`, 403, nil},
		"no such route":              {"GET", "/api/v10/nonsense", "", `{"code":0,"message":"404: Not Found"}`, 404, []string{"request"}},
		"an answer 404 of a route":   {"GET", "/api/v10/channels/1", "", `{"code":10003}`, 404, []string{"response"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequest(tc.method, "https://discord.com"+tc.path, strings.NewReader(tc.request))
			check(t, err)
			if tc.request != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			var got []string
			client := &http.Client{Transport: c.Transport(canned{tc.status, tc.response}, func(v contract.Violation) {
				t.Log(v)
				if !slices.Contains(got, v.Side) {
					got = append(got, v.Side)
				}
			})}
			res, err := client.Do(req)
			check(t, err)
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			check(t, err)
			if d := cmp.Diff(tc.want, got); d != "" || string(body) != tc.response {
				t.Errorf("sides with violations (-want +got):\n%s\nbody passed on: %s", d, body)
			}
		})
	}
}

// canned answers everything the same.
type canned struct {
	status int
	body   string
}

// RoundTrip answers.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Status: strconv.Itoa(c.status), Request: r, Body: io.NopCloser(strings.NewReader(c.body)),
		Header: http.Header{"Content-Type": {"application/json"}}, ProtoMajor: 1, ProtoMinor: 1}, nil
}
