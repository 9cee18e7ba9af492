// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/discord-operator/internal/guildtest"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermAdministrator)
	by := func(name string, position int) string {
		return g.Discord.CreateChannelByHand(g.ID, discordtest.Channel{Name: name, Position: position})
	}
	a, b := by("a", 1), by("b", 2)
	sensei := g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "Sensei"})
	snap := g.Snapshot(t)
	kind := Kind{Siblings: func(s *guildcache.Snapshot, id string, _ discordgo.ChannelType) []*discordclient.Channel {
		return s.Children(id)
	}}
	live, _ := snap.Channel(a)
	green := 0x00FF00
	overwrites := func(list ...discordclient.Overwrite) []discordclient.Overwrite { return list }
	cases := map[string]struct {
		plan   Plan
		absent bool
		want   []string
	}{
		"nothing": {},
		"words of the spec": {plan: Plan{Changes: []Change{
			{"topic", "old\n", "new"}, {"slowmode", 0, 90}, {"defaultAutoArchive", 60, 4320}, {"nsfw", false, true},
			{"type", discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews}, {"afkTimeout", 60, 900}, {"bitrate", 1, 2}, {"videoQuality", 1, 2},
			{"threadSlowmode", 0, 5}, {"requireTag", 0, 16}, {"hideMediaDownload", 1 << 15, 0}, {"layout", 0, 2},
			{"sortOrder", (*int)(nil), new(1)}, {"defaultReaction", (*discordclient.Emoji)(nil), new(discordclient.ParseEmoji("✅"))},
			{"tags", []discordclient.Tag(nil), []discordclient.Tag{
				{Name: "bug", Moderated: true, Emoji: discordclient.ParseEmoji("🐛")}, {Name: "idea"},
			}},
		}}, want: []string{`topic: "old\n" -> "new"`, "slowmode: 0s -> 1m30s", "defaultAutoArchive: OneHour -> ThreeDays",
			"nsfw: false -> true", "type: Text -> Announcement", "afkTimeout: 1m -> 15m", "bitrate: 1 -> 2", "videoQuality: Auto -> Full",
			"threadSlowmode: 0s -> 5s", "requireTag: false -> true", "hideMediaDownload: true -> false", "layout: NotSet -> Gallery",
			"sortOrder: NotSet -> CreationDate", "defaultReaction: none -> ✅", "tags: none -> 🐛 bug (moderated), idea"}},
		"names instead of ids": {plan: Plan{Changes: []Change{{"group", "", b}, {"systemChannelRef", a, "1"}}},
			want: []string{`group: none -> "b"`, `systemChannelRef: "a" -> 1`}},
		"permissions and colours": {plan: Plan{Changes: []Change{
			{"permissions", permissions.Bits(0), permissions.ViewChannel | permissions.ManageRoles},
			{"color", discordclient.RoleColors{Primary: 7}, discordclient.RoleColors{Primary: green, Secondary: &green}},
		}}, want: []string{"permissions: none -> ViewChannel, ManageRoles", "color: #000007 -> #00FF00 to #00FF00"}},
		"overwrites one by one": {plan: Plan{Changes: []Change{{"permissionOverwrites",
			overwrites(discordclient.Overwrite{ID: sensei, Allow: permissions.ManageRoles}, discordclient.Overwrite{ID: "77", Type: 1}),
			overwrites(discordclient.Overwrite{ID: "77", Type: 1}, discordclient.Overwrite{ID: g.ID, Deny: permissions.ManageWebhooks})}}},
			want: []string{`permissionOverwrites of role "@everyone": none -> allow none, deny ManageWebhooks`,
				`permissionOverwrites of role "Sensei": allow ManageRoles, deny none -> none`}},
		"a create": {plan: Plan{Create: &discordclient.ChannelCreate{}, Changes: []Change{{"name", "", "a"}}}, absent: true,
			want: []string{"create", `name: "a"`}},
		"a create that is refused": {absent: true, want: []string{"create"}},
		"a move":                   {plan: Plan{Position: &Position{Rank: 9, Ranks: order.Ranks{b: 1}}}, want: []string{`move below "b"`}},
		"a move to the top":        {plan: Plan{Position: &Position{Rank: 0, Ranks: order.Ranks{b: 0}}}},
		"a move that comes with another group": {plan: Plan{Position: &Position{Rank: 9, Ranks: order.Ranks{b: 1}},
			Changes: []Change{{"group", "", "1"}}}, want: []string{"group: none -> 1"}},
		"a long text": {plan: Plan{Changes: []Change{{"topic", "", strings.Repeat("名", 500)}}},
			want: []string{`topic: "" -> "` + strings.Repeat("名", maxShown-3) + `..."`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binding := Binding{Channel: live, Absent: c.absent}
			if c.absent {
				binding.Channel = nil
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

// The lines of a status fit its schema, however many differences there are.
func TestLines(t *testing.T) {
	t.Parallel()
	all := []Difference{{Action: ActionCreate}, {Action: ActionSet, Field: "name", To: "a"}}
	if diff := cmp.Diff([]string{"create"}, Lines(all)); diff != "" {
		t.Error(diff)
	}
	for i := range 100 {
		long := strings.Repeat("名", 500)
		all = append(all, Difference{Action: ActionChange, Field: strconv.Itoa(i), From: long, To: long})
	}
	lines := Lines(all)
	if len(lines) != maxDifferences || lines[maxDifferences-1] != "38 more" || len([]rune(lines[1])) != maxDifference {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}
