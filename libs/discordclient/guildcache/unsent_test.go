// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"testing"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// TestRolesThatAreNotSentAreNotGone: a server of other people's making leaves them out of a guild.
func TestRolesThatAreNotSentAreNotGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(d *discordtest.Options, c *guildcache.Options) { d.Compatible, c.DisableGateway = true, true })
	view := r.client.Guild(r.guild)
	everyone := func(after string) {
		t.Helper()
		if _, known := view.Snapshot().Role(r.guild); !known {
			t.Errorf("after %s, the guild has no @everyone", after)
		}
	}
	if err := r.client.Refresh(t.Context(), r.guild); err != nil {
		t.Fatal(err)
	}
	everyone("reading it")
	edit := discordclient.GuildEdit{Name: discordclient.Set("Kyoto")}
	guild, err := r.client.EditGuild(t.Context(), r.guild, edit, "")
	if err != nil {
		t.Fatal(err)
	}
	everyone("an edit")
	if len(guild.Roles) == 0 {
		t.Error("the answer to the edit should have the roles that are known")
	}
}
