// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"testing"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

// The Gateway reports the bot's own roles even without the members intent.
func TestOwnRolesAreFollowed(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	run(r)
	v := liveOn(r)
	const more = permissions.MoveMembers
	role := r.Discord.AddRole(r.Guild, "Sensei", discordtest.Permissions(more))
	becomes := func(what string, holds bool) {
		t.Helper()
		eventually(t, what, func() bool {
			got, exact := v.Snapshot().BotPermissions()
			return exact && got.Has(more) == holds && got.Has(discordclient.PermissionsOverwrites)
		})
	}
	becomes("the bot lacks what its role does not give", false)
	r.Discord.GiveRole(r.Guild, r.Bot.UserID, role)
	becomes("the role is given", true)
	if got, want := v.Snapshot().Invited(), permissions.Bits(cachetest.Usual); got != want {
		t.Errorf("the invitation gave %v, want %v, without the role that a user gave", got.Names(), want.Names())
	}
	r.Discord.TakeRole(r.Guild, r.Bot.UserID, role)
	becomes("the role is taken", false)
	r.Discord.GiveRole(r.Guild, r.Bot.UserID, role)
	becomes("the role is given again", true)
	r.Discord.DeleteRole(r.Guild, role)
	becomes("the role is deleted", false)
	if got := r.Discord.RequestCounts()["GET /guilds/{guild_id}"]; got != 0 {
		t.Errorf("%d GETs of the guild, want none while the Gateway is up", got)
	}
}
