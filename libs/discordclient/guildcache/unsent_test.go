// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"testing"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

func TestAResponseWithoutRolesKeepsTheKnownRoles(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(d *discordtest.Options, c *guildcache.Options) { d.Compatible, c.DisableGateway = true, true })
	view := r.Client.Guild(r.Guild)
	everyone := func(after string) {
		t.Helper()
		if _, known := view.Snapshot().Role(r.Guild); !known {
			t.Errorf("after %s, the guild has no @everyone", after)
		}
	}
	if err := r.Client.Refresh(t.Context(), r.Guild); err != nil {
		t.Fatal(err)
	}
	everyone("reading it")
	edit := discordclient.GuildEdit{Name: discordclient.Set("Kyoto")}
	guild, err := r.Client.EditGuild(t.Context(), r.Guild, edit, "")
	if err != nil {
		t.Fatal(err)
	}
	everyone("an edit")
	if len(guild.Roles) == 0 {
		t.Error("the answer to the edit should have the roles that are known")
	}
}
