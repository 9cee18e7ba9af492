// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"
)

func TestACompatibleServerAppliesOverwritesInOrder(t *testing.T) {
	t.Parallel()
	const view = PermViewChannel
	g := &GuildState{
		Guild:             Guild{ID: "g", OwnerID: "o", Roles: []Role{{ID: "g", Permissions: view}, {ID: "r"}}},
		OverwritesInOrder: true, Members: map[string]*Member{"u": {UserID: "u", Roles: []string{"r"}}},
	}
	everyone, own := Overwrite{ID: "g", Deny: view}, Overwrite{ID: "u", Type: 1, Allow: view}
	for name, tc := range map[string]struct {
		list []Overwrite
		want Permissions
	}{
		"the member's overwrite is last":        {[]Overwrite{everyone, own}, view},
		"the member's overwrite is first":       {[]Overwrite{own, everyone}, 0},
		"a role's overwrite after the member's": {[]Overwrite{own, {ID: "r", Deny: view}}, 0},
		"an overwrite of another member":        {[]Overwrite{own, {ID: "x", Type: 1, Deny: view}}, view},
	} {
		if got := g.PermissionsIn(&Channel{Overwrites: tc.list}, "u"); got != tc.want {
			t.Errorf("%s: %b, want %b", name, got, tc.want)
		}
	}
}

func TestPermissionsIn(t *testing.T) {
	t.Parallel()
	const view, send, manage = PermViewChannel, PermSendMessages, PermManageChannels
	everyone := func(allow, deny Permissions) Overwrite { return Overwrite{ID: "g", Allow: allow, Deny: deny} }
	role := func(id string, allow, deny Permissions) Overwrite {
		return Overwrite{ID: id, Allow: allow, Deny: deny}
	}
	member := func(id string, allow, deny Permissions) Overwrite {
		return Overwrite{ID: id, Type: 1, Allow: allow, Deny: deny}
	}
	for name, tc := range map[string]struct {
		user string
		list []Overwrite
		want Permissions
	}{
		"roles add up":                                    {"u", nil, view | send | manage},
		"@everyone is denied":                             {"u", []Overwrite{everyone(0, send)}, view | manage},
		"a role allows what @everyone is denied":          {"u", []Overwrite{role("r1", send, 0), everyone(0, send)}, view | send | manage},
		"one role's allow beats another's deny":           {"u", []Overwrite{role("r1", 0, send), role("r2", send, 0)}, view | send | manage},
		"an overwrite of a role that the member lacks":    {"u", []Overwrite{role("r3", 0, send)}, view | send | manage},
		"the deny of the member's overwrite beats roles":  {"u", []Overwrite{role("r1", send, 0), member("u", 0, send)}, view | manage},
		"the allow of the member's overwrite beats roles": {"u", []Overwrite{role("r1", 0, send), member("u", send, 0)}, view | send | manage},
		"an overwrite of another member":                  {"u", []Overwrite{member("x", 0, send)}, view | send | manage},
		"without VIEW_CHANNEL, all permissions are lost":  {"u", []Overwrite{everyone(0, view)}, 0},
		"the member's overwrite restores VIEW_CHANNEL":    {"u", []Overwrite{everyone(0, view), member("u", view, 0)}, view | send | manage},
		"an overwrite does not restrict the owner":        {"o", []Overwrite{everyone(0, view)}, PermAll},
		"an overwrite does not restrict an administrator": {"a", []Overwrite{everyone(0, view), member("a", 0, view)}, PermAll},
		"a user outside the guild has no permissions":     {"x", nil, 0},
		"the id of a role is not a member":                {"r1", nil, 0},
	} {
		g := &GuildState{Guild: Guild{ID: "g", OwnerID: "o", Roles: []Role{{ID: "g", Permissions: view}, {ID: "r1", Permissions: send}, {ID: "r2", Permissions: manage}, {ID: "r3"},
			{ID: "admin", Permissions: PermAdministrator}}},
			Members: map[string]*Member{"u": {UserID: "u", Roles: []string{"r1", "r2"}}, "o": {UserID: "o"}, "a": {UserID: "a", Roles: []string{"admin"}}}}
		if got := g.PermissionsIn(&Channel{Overwrites: tc.list}, tc.user); got != tc.want {
			t.Errorf("%s: %b, want %b", name, got, tc.want)
		}
	}
}
