// SPDX-License-Identifier: Apache-2.0

package overwrites

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

func TestOpenTo(t *testing.T) {
	t.Parallel()
	everyone := discordclient.Role{ID: "1", Name: "@everyone", Permissions: view}
	dev, ops := discordclient.Role{ID: "2", Name: "Dev"}, discordclient.Role{ID: "3", Name: "Ops"}
	admin := discordclient.Role{ID: "4", Name: "Admin", Permissions: permissions.Administrator}
	private, toDev := role("1", 0, view), role("2", view, 0)
	for name, c := range map[string]struct {
		channel, category []live
		want              []string
	}{
		"both are public":                        {},
		"a public channel in a private category": {category: []live{private, toDev}, want: []string{"@everyone"}},
		"both have the same overwrites":          {channel: []live{private, toDev}, category: []live{private, toDev}},
		"a private channel in a public category": {channel: []live{private}},
		"the channel allows more roles and users": {channel: []live{private, toDev, role("3", view, 0), member("9", view, 0)},
			category: []live{private, toDev}, want: []string{`role "Ops"`, "user 9"}},
		"a role that the category denies": {channel: []live{role("3", view, 0)}, category: []live{role("3", 0, view)},
			want: []string{`role "Ops"`}},
		"a user whom the category denies": {category: []live{member("9", 0, view)}, want: []string{"user 9"}},
	} {
		snap := snapshotOf(everyone, dev, ops, admin)
		channel, category := &discordclient.Channel{Overwrites: c.channel}, &discordclient.Channel{Overwrites: c.category}
		if diff := cmp.Diff(c.want, OpenTo(channel, category, snap)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var many []discordclient.Role
	open := []live{private}
	for i := range 100 {
		id := strconv.Itoa(100 + i)
		many, open = append(many, discordclient.Role{ID: id, Name: id}), append(open, role(id, view, 0))
	}
	lines := OpenTo(&discordclient.Channel{Overwrites: open}, &discordclient.Channel{Overwrites: []live{private}},
		snapshotOf(append(many, everyone)...))
	if len(lines) != MaxOpenTo || lines[MaxOpenTo-1] != "69 more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}
