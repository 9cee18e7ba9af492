// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func ranked(v *guildcache.View) (names []string) {
	for _, r := range v.Snapshot().RankedRoles() {
		names = append(names, r.Name)
	}
	return names
}

func TestTheViewHasOwnWritesOfRolesImmediately(t *testing.T) {
	t.Parallel()
	for name, gatewayDown := range map[string]bool{"live": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) { o.DisableGateway = gatewayDown })
			run(r)
			v, ctx := r.Client.Guild(r.Guild), t.Context()
			eventually(t, "the view is known", func() bool { return v.Snapshot().Presence == guildcache.PresencePresent })
			bits := permissions.ViewChannel
			made, err := r.Client.CreateRole(ctx, r.Guild, discordclient.RoleCreate{
				Name: "On call", Permissions: &bits, Colors: &discordclient.RoleColors{Primary: 7}, Hoist: true, Mentionable: true,
			}, "why")
			want := discordclient.Role{
				ID: made.ID, Name: "On call", Position: 1, Permissions: bits, Colors: discordclient.RoleColors{Primary: 7}, Hoist: true, Mentionable: true,
			}
			if err != nil || !cmp.Equal(want, made) {
				t.Fatalf("created %+v, %v", made, err)
			}
			sees := func(what string, want discordclient.Role) {
				t.Helper()
				if got, _ := v.Snapshot().Role(made.ID); !cmp.Equal(want, got) {
					t.Errorf("after %s the view has %+v", what, got)
				}
			}
			sees("the create", made)
			edited, err := r.Client.EditRole(ctx, r.Guild, made.ID, discordclient.RoleEdit{Name: discordclient.Set("Off duty")}, "why")
			if want.Name = "Off duty"; err != nil {
				t.Fatal(err)
			}
			sees("the edit", want)
			if read, err := r.Client.GetRole(ctx, r.Guild, made.ID); err != nil || !cmp.Equal(edited, read) {
				t.Errorf("read %+v, %v", read, err)
			}
			other, err := r.Client.CreateRole(ctx, r.Guild, discordclient.RoleCreate{Name: "Other"}, "why")
			if err != nil || !cmp.Equal([]string{"@everyone", "Other", "Off duty", "operator"}, ranked(v)) {
				t.Errorf("%v, ranked %v", err, ranked(v))
			}
			own := v.Snapshot().RolesNamed("operator")[0]
			moves := []discordclient.Move{{ID: other.ID, Position: 2}, {ID: own.ID, Position: 3}}
			if err := r.Client.MoveRoles(ctx, r.Guild, moves, "why"); err != nil || !cmp.Equal([]string{"@everyone", "Off duty", "Other", "operator"}, ranked(v)) {
				t.Errorf("%v, ranked %v", err, ranked(v))
			}
			if err := r.Client.DeleteRole(ctx, r.Guild, made.ID, "why"); err != nil {
				t.Fatal(err)
			}
			if _, there := v.Snapshot().Role(made.ID); there || !v.Deleted(made.ID) {
				t.Error("the deleted role is still in the view")
			}
			cachetest.WantClass(t, r.Client.DeleteRole(ctx, r.Guild, made.ID, "why"), discordclient.ClassGone)
		})
	}
}

// Events report changes by other clients, so these changes cost no read of the guild.
func TestEventsOfRoles(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	v, ctx := r.Client.Guild(r.Guild), t.Context() // a view requested later would cost a read
	run(r)
	eventually(t, "the view is live", func() bool { return v.Snapshot().Mode == guildcache.ModeLive })
	events := r.Client.Subscribe(ctx)
	made, err := r.Client.CreateRole(ctx, r.Guild, discordclient.RoleCreate{Name: "On call"}, "why")
	changed := guildcache.Event{Kind: guildcache.EventRole, GuildID: r.Guild, RoleID: made.ID}
	expect(t, events, changed) // sent for an own write too, because another object may wait for the name
	if err == nil {
		_, err = r.Client.EditRole(ctx, r.Guild, made.ID, discordclient.RoleEdit{Hoist: discordclient.Set(true)}, "why")
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Discord.EditRoleByHand(r.Guild, made.ID, func(role *discordtest.Role) { role.Name = "by hand" })
	expect(t, events, changed)
	eventually(t, "the view has all changes", func() bool {
		role, _ := v.Snapshot().Role(made.ID)
		return role.Name == "by hand" && role.Hoist
	})
	r.Discord.DeleteRole(r.Guild, made.ID)
	eventually(t, "the view records the deletion", func() bool { return v.Deleted(made.ID) })
	if got := r.Discord.RequestCounts()["GET /guilds/{guild_id}"]; got != 0 {
		t.Errorf("%d GETs of the guild, want none while the Gateway is up", got)
	}
}

func TestBotRole(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	v := r.Client.Guild(r.Guild) // request the view before the Gateway sends the bot's roles
	run(r)
	eventually(t, "the view is live", func() bool { return v.Snapshot().Mode == guildcache.ModeLive })
	if highest, exact := v.Snapshot().BotRole(); highest.Name != "operator" || !exact {
		t.Errorf("%+v, exact %v", highest, exact)
	}
	higher := r.Discord.AddRole(r.Guild, "Sensei", 0)
	r.Discord.GiveRole(r.Guild, r.Bot.UserID, higher)
	eventually(t, "the bot has another highest role", func() bool { highest, _ := v.Snapshot().BotRole(); return highest.ID == higher })
}
