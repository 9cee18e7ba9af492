// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"testing"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// The bot's roles are given and taken by users; the Gateway reports it, without the intent for
// members.
func TestOwnRolesAreFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run()
	v := r.live()
	const more = permissions.MoveMembers
	role := r.srv.AddRole(r.guild, "Sensei", discordtest.Permissions(more))
	becomes := func(what string, holds bool) {
		t.Helper()
		eventually(t, what, func() bool {
			got, exact := v.Snapshot().BotPermissions()
			return exact && got.Has(more) == holds && got.Has(discordclient.PermissionsOverwrites)
		})
	}
	becomes("the bot lacks what its role does not give", false)
	r.srv.GiveRole(r.guild, r.bot.UserID, role)
	becomes("the role is given", true)
	r.srv.TakeRole(r.guild, r.bot.UserID, role)
	becomes("the role is taken", false)
	r.srv.GiveRole(r.guild, r.bot.UserID, role)
	becomes("the role is given again", true)
	r.srv.DeleteRole(r.guild, role)
	becomes("the role is deleted", false)
	if got := r.srv.RequestCounts()["GET /guilds/{guild_id}"]; got != 0 {
		t.Errorf("%d GETs of the guild, want none while the Gateway is up", got)
	}
}
