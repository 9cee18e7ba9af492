// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestIntents(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	id := r.Channel(obj{"name": "a"})
	w, _ := identified(r, messages)
	r.Srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.Topic = "unseen" })
	r.Srv.PostByHand(id, r.Srv.AddUser("gojo"), "secret")
	if f := w.want(0, "MESSAGE_CREATE"); f.data()["content"] != "" || f.data()["guild_id"] != r.Guild {
		t.Errorf("MESSAGE_CREATE %v", f.D)
	}
}

func TestOwnRoles(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	user := r.Srv.AddUser("gojo")
	r.Srv.AddMember(r.Guild, user, 0)
	role := r.Srv.AddRole(r.Guild, "Sensei", 0)
	w, _ := identified(r, 0)
	roles := func() int {
		f := w.want(0, "GUILD_MEMBER_UPDATE")
		if f.data()["guild_id"] != r.Guild || f.data()["user"].(obj)["id"] != r.Bot.UserID {
			t.Errorf("GUILD_MEMBER_UPDATE %v", f.D)
		}
		return len(f.data()["roles"].([]any))
	}
	for _, tc := range []struct {
		what string
		do   func()
		want int
	}{
		{"the bot gets the role", func() { r.Srv.GiveRole(r.Guild, r.Bot.UserID, role) }, 2},
		{"the bot gets the role again and loses it", func() { r.Srv.GiveRole(r.Guild, r.Bot.UserID, role); r.Srv.TakeRole(r.Guild, r.Bot.UserID, role) }, 1},
		{"a user gets the role, then the bot", func() { r.Srv.GiveRole(r.Guild, user, role); r.Srv.GiveRole(r.Guild, r.Bot.UserID, role) }, 2},
		{"the role is deleted", func() { r.Srv.DeleteRole(r.Guild, role) }, 1},
	} {
		if tc.do(); roles() != tc.want {
			t.Errorf("%s: not %d roles", tc.what, tc.want)
		}
	}
}

// During an outage, GUILD_CREATE has only id and unavailable. A session gets it only with the
// intent GUILDS, and only if the guild is in its shard.
func TestOutage(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	r.Srv.Gateway().Outage(r.Guild, true)
	w, _ := identified(r, 1)
	if f := w.want(0, "GUILD_CREATE"); !cmp.Equal(f.D, any(obj{"id": r.Guild, "unavailable": true})) {
		t.Errorf("GUILD_CREATE during an outage: %v", f.D)
	}
	deaf, _ := identified(r, 0)
	id, err := strconv.ParseUint(r.Guild, 10, 64)
	rig.Check(t, err)
	other := dial(r, latest)
	other.want(10, "")
	other.send(2, obj{"token": r.Bot.Token, "intents": 1, "shard": []uint64{1 - id>>22%2, 2}})
	if f := other.want(0, "READY"); len(f.data()["guilds"].([]any)) != 0 {
		t.Errorf("READY of the other shard: %v", f.D)
	}
	r.Srv.Gateway().Outage(r.Guild, false)
	r.Srv.AddRole(r.Guild, "Sensei", 0)
	r.Srv.RemoveMember(r.Guild, r.Bot.UserID)
	w.want(0, "GUILD_CREATE")
	w.want(0, "GUILD_ROLE_CREATE")
	w.want(0, "GUILD_DELETE")
	for _, silent := range []*wire{deaf, other} {
		silent.send(1, nil)
		silent.want(11, "")
	}
}
