// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"slices"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

func TestMemberSince(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) { o.DisableGateway = true })
	ctx, hourAgo := t.Context(), time.Now().Add(-time.Hour)
	yuji, gone := r.Discord.AddUser("Yuji"), r.Discord.AddUser("Satoru")
	r.Discord.AddMember(r.Guild, yuji, 0)
	role := r.Discord.CreateRoleByHand(r.Guild, discordtest.Role{Name: "On call"})
	has := func(since time.Time) bool {
		t.Helper()
		member, err := r.Client.MemberSince(ctx, "team-a", r.Guild, yuji, since)
		if err != nil {
			t.Fatal(err)
		}
		if len(member.Roles) > 1 {
			t.Errorf("the member has the roles %v", member.Roles)
		}
		return slices.Contains(member.Roles, role)
	}
	reads := func() int { return r.Discord.RequestCounts()["GET /guilds/{guild_id}/members/{user_id}"] }
	for range 2 {
		if has(hourAgo) || reads() != 1 {
			t.Errorf("%d calls, want one", reads())
		}
	}
	for range 2 { // Discord also accepts the call for a member who has the role
		if err := r.Client.AddMemberRole(ctx, r.Guild, yuji, role, "why"); err != nil || !has(hourAgo) {
			t.Errorf("a role that was given is not known: %v", err)
		}
	}
	if err := r.Client.RemoveMemberRole(ctx, r.Guild, yuji, role, "why"); err != nil || has(hourAgo) {
		t.Errorf("a role that was taken is still there: %v", err)
	}
	r.Discord.GiveRole(r.Guild, yuji, role)
	if has(hourAgo) || reads() != 1 {
		t.Error("Discord reports no changes of members")
	}
	if !has(time.Now()) || reads() != 2 {
		t.Error("a member older than since is not read again")
	}
	for range 2 {
		_, err := r.Client.MemberSince(ctx, "team-a", r.Guild, gone, hourAgo)
		cachetest.WantClass(t, err, discordclient.ClassGone)
	}
	if reads() != 3 {
		t.Errorf("%d reads, want one of a user who is not in the guild", reads())
	}
	r.Client.Forget(r.Guild)
	if !has(hourAgo) || reads() != 4 {
		t.Error("a guild that was forgotten has members")
	}
	r.Discord.RemoveMember(r.Guild, yuji)
	cachetest.WantClass(t, r.Client.AddMemberRole(ctx, r.Guild, yuji, role, "why"), discordclient.ClassGone)
	_, err := r.Client.MemberSince(ctx, "team-a", r.Guild, yuji, hourAgo)
	if cachetest.WantClass(t, err, discordclient.ClassGone); reads() != 5 {
		t.Errorf("%d reads, want one after Discord called the member unknown", reads())
	}
}
