// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func change(field string, from, to any, text resource.Text) resource.Change {
	return resource.Change{Field: field, From: from, To: to, Text: text}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermAdministrator)
	by := func(name string, position int) string {
		return g.Discord.CreateChannelByHand(g.ID, discordtest.Channel{Name: name, Position: position})
	}
	a, b := by("a", 1), by("b", 2)
	sensei := g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "Sensei"})
	snap := g.Snapshot(t)
	kind := Kind{Calls: resource.Channels}
	live, _ := snap.Channel(a)
	green := 0x00FF00
	overwrites := func(list ...discordclient.Overwrite) []discordclient.Overwrite { return list }
	cases := map[string]struct {
		plan   Plan
		absent bool
		want   []string
	}{
		"no changes": {},
		"names instead of ids": {plan: Plan{Changes: []resource.Change{change("group", "", b, resource.ChannelName), change("systemChannelRef", a, "1", resource.ChannelName)}},
			want: []string{`group: none -> "b"`, `systemChannelRef: "a" -> 1`}},
		"permissions and colours": {plan: Plan{Changes: []resource.Change{
			change("permissions", permissions.Bits(0), permissions.ViewChannel|permissions.ManageRoles, nil),
			change("color", discordclient.RoleColors{Primary: 7}, discordclient.RoleColors{Primary: green, Secondary: &green}, nil),
		}}, want: []string{"permissions: none -> ViewChannel, ManageRoles", "color: #000007 -> #00FF00 to #00FF00"}},
		"overwrites one by one": {plan: Plan{Changes: []resource.Change{change("permissionOverwrites",
			overwrites(discordclient.Overwrite{ID: sensei, Allow: permissions.ManageRoles}, discordclient.Overwrite{ID: "77", Type: 1}),
			overwrites(discordclient.Overwrite{ID: "77", Type: 1}, discordclient.Overwrite{ID: g.ID, Deny: permissions.ManageWebhooks}), nil)}},
			want: []string{`permissionOverwrites of role "@everyone": none -> allow none, deny ManageWebhooks`,
				`permissionOverwrites of role "Sensei": allow ManageRoles, deny none -> none`}},
		"a create": {plan: Plan{Create: &resource.ChannelCreate{}, Changes: []resource.Change{change("name", "", "a", nil)}}, absent: true,
			want: []string{"create", `name: "a"`}},
		"a create that an issue blocks": {absent: true, want: []string{"create"}},
		"a move":                        {plan: Plan{Position: &Position{Rank: 9, Ranks: order.Ranks{b: 1}}}, want: []string{`move below "b"`}},
		"no move among equal ranks":     {plan: Plan{Position: &Position{Rank: 0, Ranks: order.Ranks{b: 0}}}},
		"a move to another group": {plan: Plan{Position: &Position{Rank: 9, Ranks: order.Ranks{b: 1}},
			Changes: []resource.Change{change("group", "", "1", resource.ChannelName)}}, want: []string{"group: none -> 1"}},
		"a long text": {plan: Plan{Changes: []resource.Change{change("topic", "", strings.Repeat("名", 500), nil)}},
			want: []string{`topic: "" -> "` + strings.Repeat("名", 80-3) + `..."`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binding := Binding{Live: live, Absent: c.absent}
			if c.absent {
				binding.Live = nil
			}
			var got []string
			for _, d := range c.plan.Differences(kind, binding, snap, snap) {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFormatDifferences(t *testing.T) {
	t.Parallel()
	all := []resource.Difference{{Action: resource.ActionCreate}, {Action: resource.ActionSet, Field: "name", To: "a"}}
	if diff := cmp.Diff([]string{"create"}, FormatDifferences(all)); diff != "" {
		t.Error(diff)
	}
	for i := range 100 {
		long := strings.Repeat("名", 500)
		all = append(all, resource.Difference{Action: resource.ActionChange, Field: strconv.Itoa(i), From: long, To: long})
	}
	lines := FormatDifferences(all)
	if len(lines) != maxDifferences || lines[maxDifferences-1] != "38 more" || len([]rune(lines[1])) != maxDifference {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}
