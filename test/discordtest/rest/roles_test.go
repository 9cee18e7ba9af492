// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestRolesAccess(t *testing.T) {
	t.Parallel()
	const manage = discordtest.PermManageRoles | discordtest.PermViewChannel
	for name, tc := range map[string]struct {
		have         discordtest.Permissions
		method, path string
		body         any
		status, code int
	}{
		"create":                                             {manage, "POST", "/roles", obj{"name": "a"}, 200, 0},
		"create without MANAGE_ROLES":                        {manage &^ discordtest.PermManageRoles, "POST", "/roles", obj{"name": "a"}, 403, 50013},
		"grant a permission that the bot has":                {manage, "POST", "/roles", obj{"permissions": "1024"}, 200, 0},
		"grant a permission that the bot lacks":              {manage, "POST", "/roles", obj{"permissions": "8"}, 403, 50013},
		"a name too long":                                    {manage, "POST", "/roles", obj{"name": "{101}"}, 400, 50035},
		"a colour too high":                                  {manage, "POST", "/roles", obj{"color": 1 << 24}, 400, 50035},
		"invalid colours":                                    {manage, "POST", "/roles", obj{"colors": "red"}, 400, 50035},
		"a gradient without ENHANCED_ROLE_COLORS":            {manage, "POST", "/roles", obj{"colors": obj{"primary_color": 1, "secondary_color": 2}}, 400, 50101},
		"edit a lower role":                                  {manage, "PATCH", "/roles/{low}", obj{"name": "b"}, 200, 0},
		"grant a lower role a permission that the bot lacks": {manage, "PATCH", "/roles/{low}", obj{"permissions": "8"}, 403, 50013},
		"edit a higher role":                                 {manage, "PATCH", "/roles/{high}", obj{"name": "b"}, 403, 50013},
		"edit the bot's role":                                {manage, "PATCH", "/roles/{own}", obj{"name": "b"}, 403, 50013},
		"rename @everyone":                                   {manage, "PATCH", "/roles/{g}", obj{"name": "b"}, 400, 50028},
		"change the permissions of @everyone":                {manage, "PATCH", "/roles/{g}", obj{"permissions": "0"}, 200, 0},
		"edit an unknown role":                               {manage, "PATCH", "/roles/1", obj{}, 404, 10011},
		"read an unknown role":                               {manage, "GET", "/roles/1", nil, 404, 10011},
		"delete a lower role":                                {manage, "DELETE", "/roles/{low}", nil, 204, 0},
		"delete a higher role":                               {manage, "DELETE", "/roles/{high}", nil, 403, 50013},
		"delete a booster role":                              {manage, "DELETE", "/roles/{booster}", nil, 400, 50028},
		"delete @everyone":                                   {manage, "DELETE", "/roles/{g}", nil, 400, 50028},
		"move a lower role":                                  {manage, "PATCH", "/roles", []obj{{"id": "{low}", "position": 1}}, 200, 0},
		"move a lower role above the bot's role":             {manage, "PATCH", "/roles", []obj{{"id": "{low}", "position": 99}}, 403, 50013},
		"move a higher role below the bot's role":            {manage, "PATCH", "/roles", []obj{{"id": "{high}", "position": 1}}, 403, 50013},
		"renumber higher roles in the same order":            {manage, "PATCH", "/roles", []obj{{"id": "{high}", "position": 98}, {"id": "{own}", "position": 97}}, 200, 0},
		"move an unknown role":                               {manage, "PATCH", "/roles", []obj{{"id": "1", "position": 1}}, 404, 10011},
		"moves are not a list":                               {manage, "PATCH", "/roles", obj{"id": "1"}, 400, 50035},
		"give a lower role":                                  {manage, "PUT", "/members/{user}/roles/{low}", nil, 204, 0},
		"remove a role that the member lacks":                {manage, "DELETE", "/members/{user}/roles/{low}", nil, 204, 0},
		"give a higher role":                                 {manage, "PUT", "/members/{user}/roles/{high}", nil, 403, 50013},
		"give a booster role":                                {manage, "PUT", "/members/{user}/roles/{booster}", nil, 400, 50028},
		"give a role to a user outside the guild":            {manage, "PUT", "/members/{out}/roles/{low}", nil, 404, 10007},
		"give a role to an unknown user":                     {manage, "PUT", "/members/1/roles/{low}", nil, 404, 10013},
		"give an unknown role":                               {manage, "PUT", "/members/{user}/roles/1", nil, 404, 10011},
		"give without MANAGE_ROLES":                          {discordtest.PermViewChannel, "PUT", "/members/{user}/roles/{low}", nil, 403, 50013},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, tc.have)
			user := r.Srv.AddUser("Yuji")
			r.Srv.AddMember(r.Guild, user, 0)
			fill := rig.Replacer("{g}", r.Guild, "{user}", user, "{out}", r.Srv.AddUser("Satoru"), "{own}", r.Srv.Guild(r.Guild).Members[r.Bot.UserID].Own,
				"{low}", r.Srv.CreateRoleByHand(r.Guild, discordtest.Role{Name: "low"}), "{high}", r.Srv.AddRole(r.Guild, "high", 0),
				"{booster}", r.Srv.CreateRoleByHand(r.Guild, discordtest.Role{Name: "Booster", Booster: true}), "{101}", strings.Repeat("a", 101))
			got := r.Do(tc.method, "/guilds/"+r.Guild+fill.Text(tc.path), fill.Body(t, tc.body))
			if got.Status != tc.status || got.Code() != tc.code {
				t.Errorf("got %d %s, want %d with %d", got.Status, got.Raw, tc.status, tc.code)
			}
		})
	}
}

func TestRolesFromCreateToDelete(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(_ *discordtest.Options, g *discordtest.GuildSpec) { g.Features = []string{"ENHANCED_ROLE_COLORS"} })
	g := "/guilds/" + r.Guild
	gradient := obj{"primary_color": float64(1), "secondary_color": float64(2), "tertiary_color": nil}
	made := r.Must(200, "POST", g+"/roles", obj{"name": "On call", "colors": gradient, "hoist": true, "mentionable": true, "permissions": "0"})
	if d := cmp.Diff([]any{gradient, float64(1), true, true, "0", float64(1)},
		[]any{made.JSON["colors"], made.JSON["color"], made.JSON["hoist"], made.JSON["mentionable"], made.JSON["permissions"], made.JSON["position"]}); d != "" {
		t.Error(d)
	}
	for status, third := range map[int]int{200: 16761760, 400: 3} {
		r.Must(status, "PATCH", g+"/roles/"+made.ID(), obj{"colors": obj{"primary_color": 11127295, "secondary_color": 16759788, "tertiary_color": third}})
	}
	younger := r.Must(200, "POST", g+"/roles", obj{"name": "younger"}).ID()
	ranked := func() (names []string) {
		guild := r.Srv.Guild(r.Guild)
		for _, role := range guild.RankedRoles() {
			names = append(names, role.Name)
		}
		return names
	}
	if d := cmp.Diff([]string{"@everyone", "younger", "On call", "operator"}, ranked()); d != "" {
		t.Errorf("of two roles with one position, the older role should be above: %s", d)
	}
	r.Must(200, "PATCH", g+"/roles", []obj{{"id": younger, "position": 2}, {"id": r.Srv.Guild(r.Guild).Members[r.Bot.UserID].Own, "position": 3}})
	if d := cmp.Diff([]string{"@everyone", "On call", "younger", "operator"}, ranked()); d != "" {
		t.Errorf("moved: %s", d)
	}
	user := r.Srv.AddUser("Yuji")
	r.Srv.AddMember(r.Guild, user, 0)
	member := g + "/members/" + user
	for range 2 {
		r.Must(204, "PUT", member+"/roles/"+younger, nil)
	}
	if d := cmp.Diff([]any{younger}, r.Must(200, "GET", member, nil).JSON["roles"]); d != "" {
		t.Errorf("given: %s", d)
	}
	r.Must(204, "DELETE", g+"/roles/"+younger, nil)
	if d := cmp.Diff([]any{}, r.Must(200, "GET", member, nil).JSON["roles"]); d != "" {
		t.Errorf("deleted: %s", d)
	}
	var actions []int
	for _, e := range r.Srv.Guild(r.Guild).Audit {
		actions = append(actions, e.Action)
	}
	if d := cmp.Diff([]int{30, 31, 30, 31, 31, 25, 32}, actions); d != "" {
		t.Errorf("audit log: %s", d)
	}
}

func TestRolesAreAtMost250(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	for range 248 { // with @everyone and the bot's role, the guild then has 250 roles
		r.Srv.CreateRoleByHand(r.Guild, discordtest.Role{Name: "a"})
	}
	if got := r.Do("POST", "/guilds/"+r.Guild+"/roles", obj{"name": "b"}); got.Code() != 30005 {
		t.Errorf("got %d %s", got.Status, got.Raw)
	}
}
