// SPDX-License-Identifier: Apache-2.0

package overwrites

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func TestInherited(t *testing.T) {
	t.Parallel()
	bot := guildtest.New(t, discordtest.PermViewChannel|discordtest.PermManageChannels|discordtest.PermManageRoles)
	admin := guildtest.New(t, discordtest.PermAdministrator)
	snaps := map[*guildtest.Guild]*guildcache.Snapshot{bot: bot.Snapshot(t), admin: admin.Snapshot(t)}
	const ban = permissions.Bits(1) << 2
	most := make([]live, maxOverwrites)
	for i := range most {
		most[i] = member(strconv.Itoa(1000+i), view, 0)
	}
	for name, c := range map[string]struct {
		guild  *guildtest.Guild
		list   []live
		copied bool // whether only Discord can copy the overwrites
	}{
		"a private category": {guild: bot, list: []live{role(bot.ID, 0, view), member("99999999", view, 0)}},
		"an overwrite denies a permission that the bot lacks":              {guild: bot, list: []live{role(bot.ID, 0, ban)}, copied: true},
		"an overwrite allows a permission that the bot lacks":              {guild: bot, list: []live{member("99999999", ban, 0)}, copied: true},
		"an overwrite denies ManageRoles":                                  {guild: bot, list: []live{role(bot.ID, 0, permissions.ManageRoles)}, copied: true},
		"an overwrite denies ManageRoles, and the bot is an administrator": {guild: admin, list: []live{role(admin.ID, 0, permissions.ManageRoles|secret)}},
		"an overwrite denies a bit without a name":                         {guild: bot, list: []live{role(bot.ID, 0, view|secret)}, copied: true},
		"a category without overwrites":                                    {guild: admin, copied: true},
		"as many overwrites as Discord accepts":                            {guild: bot, list: most},
		"more overwrites than Discord accepts":                             {guild: admin, list: append(most[:maxOverwrites:maxOverwrites], role(admin.ID, 0, view)), copied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := c.list
			if c.copied {
				want = nil
			}
			got := Inherited(&discordclient.Channel{Overwrites: c.list}, snaps[c.guild])
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
