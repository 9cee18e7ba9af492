// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"testing"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

type obj = rig.Obj

const (
	manage = discordtest.PermManageChannels
	view   = discordtest.PermViewChannel
	roles  = discordtest.PermManageRoles
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	const none = discordtest.Permissions(1) // a permission bit that no call in this test needs
	for name, tc := range map[string]struct {
		have         discordtest.Permissions
		method, path string
		body         any
		status, code int
		hidden       bool // @everyone cannot view the channel
	}{
		"create without MANAGE_CHANNELS":                     {none, "POST", "/guilds/{g}/channels", obj{"name": "a"}, 403, 50013, false},
		"create with an empty name, without MANAGE_CHANNELS": {none, "POST", "/guilds/{g}/channels", obj{"name": ""}, 403, 50013, false},
		"create with MANAGE_CHANNELS":                        {manage, "POST", "/guilds/{g}/channels", obj{"name": "a"}, 201, 0, false},
		"an administrator deletes a hidden channel":          {discordtest.PermAdministrator, "DELETE", "/channels/{c}", nil, 200, 0, true},
		"read a hidden channel":                              {manage, "GET", "/channels/{c}", nil, 403, 50001, true},
		"edit a hidden channel":                              {manage, "PATCH", "/channels/{c}", obj{"name": "b"}, 403, 50001, true},
		"list channels, one is hidden":                       {none, "GET", "/guilds/{g}/channels", nil, 200, 0, true},
		"edit without MANAGE_CHANNELS":                       {none, "PATCH", "/channels/{c}", obj{"name": "b"}, 403, 50013, false},
		"overwrites without MANAGE_ROLES":                    {manage, "PATCH", "/channels/{c}", obj{"permission_overwrites": []obj{}}, 403, 50013, false},
		"deny a permission that the bot has":                 {manage | roles, "PATCH", "/channels/{c}", obj{"permission_overwrites": []obj{{"id": "{g}", "deny": "1024"}}}, 200, 0, false},
		"deny a permission that the bot lacks":               {manage | roles, "PATCH", "/channels/{c}", obj{"permission_overwrites": []obj{{"id": "{g}", "deny": "2"}}}, 403, 50013, false},
		"allow MANAGE_ROLES":                                 {manage | roles, "POST", "/guilds/{g}/channels", obj{"name": "a", "permission_overwrites": []obj{{"id": "{g}", "allow": "268435456"}}}, 403, 50013, false},
		"an administrator allows MANAGE_ROLES":               {discordtest.PermAdministrator, "POST", "/guilds/{g}/channels", obj{"name": "a", "permission_overwrites": []obj{{"id": "{g}", "allow": "268435456"}}}, 201, 0, false},
		"put overwrite without MANAGE_ROLES":                 {manage, "PUT", "/channels/{c}/permissions/{g}", obj{"type": 0}, 403, 50013, false},
		"put overwrite with MANAGE_ROLES":                    {roles, "PUT", "/channels/{c}/permissions/{g}", obj{"type": 0, "deny": "1024"}, 204, 0, false},
		"put overwrite of an unknown role":                   {roles, "PUT", "/channels/{c}/permissions/1", obj{"type": 0}, 404, 10009, false},
		"delete an unknown overwrite":                        {roles, "DELETE", "/channels/{c}/permissions/1", nil, 404, 10009, false},
		"delete without MANAGE_CHANNELS":                     {none, "DELETE", "/channels/{c}", nil, 403, 50013, false},
		"create a webhook without MANAGE_WEBHOOKS":           {manage, "POST", "/channels/{c}/webhooks", obj{"name": "a"}, 403, 50013, false},
		"list webhooks without MANAGE_WEBHOOKS":              {manage, "GET", "/channels/{c}/webhooks", nil, 403, 50013, false},
		"read the audit log without VIEW_AUDIT_LOG":          {manage, "GET", "/guilds/{g}/audit-logs", nil, 403, 50013, false},
		"edit the guild without MANAGE_GUILD":                {manage, "PATCH", "/guilds/{g}", obj{"name": "ab"}, 403, 50013, false},
		"COMMUNITY needs an administrator":                   {discordtest.PermManageGuild, "PATCH", "/guilds/{g}", obj{"features": []string{"COMMUNITY"}}, 403, 50013, false},
		"an administrator adds COMMUNITY":                    {discordtest.PermAdministrator, "PATCH", "/guilds/{g}", obj{"features": []string{"COMMUNITY"}, "rules_channel_id": "{c}", "public_updates_channel_id": "{d}", "verification_level": 1, "explicit_content_filter": 2}, 200, 0, false},
		"COMMUNITY without channels":                         {discordtest.PermAdministrator, "PATCH", "/guilds/{g}", obj{"features": []string{"COMMUNITY"}}, 403, 40006, false},
		"change a position without MANAGE_CHANNELS":          {none, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "position": 2}}, 403, 50013, false},
		"change the position of a hidden channel":            {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "position": 2}}, 204, 0, true},
		"a new parent needs VIEW_CHANNEL":                    {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "parent_id": "{k}"}}, 403, 50001, true},
		"a new parent":                                       {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "parent_id": "{k}"}}, 204, 0, false},
		"lock_permissions needs MANAGE_ROLES":                {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "lock_permissions": true}}, 403, 50013, false},
		"two new parents in one call":                        {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "{c}", "parent_id": "{k}"}, {"id": "{d}", "parent_id": "{k}"}}, 400, 40009, false},
		"change the position of an unknown channel":          {manage, "PATCH", "/guilds/{g}/channels", []obj{{"id": "1", "position": 2}}, 404, 10003, false},
		"positions are not a list":                           {manage, "PATCH", "/guilds/{g}/channels", obj{"id": "1"}, 400, 50035, false},
		"an unknown channel":                                 {manage, "GET", "/channels/1", nil, 404, 10003, false},
		"an unknown guild":                                   {manage, "GET", "/guilds/1", nil, 404, 10004, false},
		"a guild without the bot":                            {manage, "GET", "/guilds/{o}", nil, 404, 10004, false},
		"an invalid id":                                      {manage, "GET", "/channels/nonsense", nil, 400, 50035, false},
		"an invalid id of a role":                            {manage, "GET", "/guilds/{g}/roles/nonsense", nil, 400, 50035, false},
		"an id above 63 bits":                                {manage, "GET", "/guilds/{g}/members/9223372036854775808", nil, 400, 50035, false},
		"an id above 64 bits":                                {manage, "GET", "/webhooks/99999999999999999999", nil, 400, 50035, false},
		"deleting a guild":                                   {manage, "DELETE", "/guilds/{g}", nil, 403, 20001, false},
		"an unknown member":                                  {manage, "GET", "/guilds/{g}/members/{x}", nil, 404, 10007, false},
		"an unknown user":                                    {manage, "GET", "/guilds/{g}/members/1", nil, 404, 10013, false},
		"an unknown route":                                   {manage, "GET", "/nonsense", nil, 404, 0, false},
		"a wrong method":                                     {manage, "PUT", "/channels/{c}", nil, 405, 0, false},
		"a message into a hidden channel":                    {none, "POST", "/channels/{c}/messages", obj{"content": "x"}, 403, 50001, true},
		"a message without SEND_MESSAGES":                    {none, "POST", "/channels/{m}/messages", obj{"content": "x"}, 403, 50013, false},
		"create in a hidden category":                        {manage, "POST", "/guilds/{g}/channels", obj{"name": "a", "parent_id": "{h}"}, 403, 50001, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, tc.have)
			deny := []discordtest.Overwrite{{ID: r.Guild, Deny: view}}
			add := func(c discordtest.Channel) string { return r.Srv.CreateChannelByHand(r.Guild, c) }
			c := discordtest.Channel{Name: "c"}
			if tc.hidden {
				c.Overwrites = deny
			}
			fill := rig.Replacer("{g}", r.Guild, "{c}", add(c), "{d}", add(discordtest.Channel{Name: "d"}), "{k}", add(discordtest.Channel{Name: "K", Type: 4}),
				"{m}", add(discordtest.Channel{Name: "m", Overwrites: []discordtest.Overwrite{{ID: r.Guild, Deny: discordtest.PermSendMessages}}}),
				"{h}", add(discordtest.Channel{Name: "H", Type: 4, Overwrites: deny}), "{o}", r.Srv.AddGuild(discordtest.GuildSpec{}).ID, "{x}", r.Srv.AddUser("x"))
			got := r.Do(tc.method, fill.Text(tc.path), fill.Body(t, tc.body))
			if got.Status != tc.status || got.Code() != tc.code {
				t.Errorf("got %d %s, want %d with %d", got.Status, got.Raw, tc.status, tc.code)
			}
		})
	}
}

func TestTwoFactor(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(_ *discordtest.Options, g *discordtest.GuildSpec) { g.MFALevel = 1 })
	lax := r.Srv.AddBot(discordtest.Bot{OwnerWithout2FA: true})
	r.Srv.AddMember(r.Guild, lax.UserID, rig.Usual)
	r.Must(201, "POST", "/guilds/"+r.Guild+"/channels", obj{"name": "a"})
	if got := r.As("Bot "+lax.Token, "POST", "/guilds/"+r.Guild+"/channels", obj{"name": "a"}); got.Status != 403 || got.Code() != 60003 {
		t.Errorf("got %d %s", got.Status, got.Raw)
	}
}

func TestAuthorization(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	for name, tc := range map[string]struct {
		auth, agent, path string
		status, code      int
	}{
		"valid token and User-Agent":   {"Bot " + r.Bot.Token, "DiscordBot (x, 1)", "/users/@me", 200, 0},
		"wrong token":                  {"Bot x.y.z", "DiscordBot (x, 1)", "/users/@me", 401, 0},
		"token without the prefix Bot": {r.Bot.Token, "DiscordBot (x, 1)", "/users/@me", 401, 0},
		"no token":                     {"", "DiscordBot (x, 1)", "/users/@me", 401, 0},
		"no token on an open route":    {"", "curl", "/gateway", 200, 0},
		"invalid User-Agent":           {"Bot " + r.Bot.Token, "curl/8", "/users/@me", 403, 40333},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.T = t
			got := in.As(tc.auth, "GET", tc.path, nil, "User-Agent", tc.agent)
			if got.Status != tc.status || got.Code() != tc.code {
				t.Errorf("got %d %s, want %d with %d", got.Status, got.Raw, tc.status, tc.code)
			}
			if tc.status == 401 && got.JSON["message"] != "401: Unauthorized" {
				t.Errorf("message %v", got.JSON["message"])
			}
		})
	}
	rotated, err := r.Srv.RotateToken(r.Bot.Token)
	rig.Check(t, err)
	if got := r.Do("GET", "/users/@me", nil); got.Status != 401 {
		t.Errorf("the old token is still good: %d", got.Status)
	}
	if got := r.As("Bot "+rotated, "GET", "/users/@me", nil); got.ID() != r.Bot.UserID {
		t.Errorf("the new token: %d %s", got.Status, got.Raw)
	}
}
