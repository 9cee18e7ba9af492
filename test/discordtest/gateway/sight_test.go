// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

const view = discordtest.PermViewChannel

func deny(r *rig.Rig) []discordtest.Overwrite {
	return []discordtest.Overwrite{{ID: r.Guild, Deny: view}}
}

func set(r *rig.Rig, id string, o ...discordtest.Overwrite) {
	r.Srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.Overwrites = o })
}

func obfuscated(r *rig.Rig, id string, kind, position int) obj {
	want := obj{
		"id": id, "guild_id": r.Guild, "type": float64(kind), "position": float64(position), "flags": float64(1 << 17),
		"name": "___hidden___", "parent_id": nil,
		"permission_overwrites": []any{obj{"id": r.Guild, "type": 0.0, "allow": "0", "deny": "1024"}},
	}
	if kind == discordtest.TypeText {
		want["topic"], want["nsfw"], want["rate_limit_per_user"], want["last_message_id"] = nil, false, 0.0, nil
	}
	return want
}

func TestHiddenChannel(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	group := r.Channel(obj{"name": "Alerts", "type": 4})
	seen := r.Channel(obj{"name": "seen"})
	id := r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{
		Name: "secret", Topic: "plans", ParentID: group, Position: 7, NSFW: true, RateLimitPerUser: 5, Overwrites: deny(r),
	})
	var listed []any
	for _, c := range r.Must(200, "GET", "/guilds/"+r.Guild+"/channels", nil).List {
		listed = append(listed, c.(obj)["id"])
	}
	if d := cmp.Diff([]any{group, seen}, listed); d != "" {
		t.Errorf("listed (-want +got):\n%s", d)
	}
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		if got := r.Do(method, "/channels/"+id, obj{"name": "mine"}); got.Status != 403 || got.Code() != 50001 {
			t.Errorf("%s: %d %s", method, got.Status, got.Raw)
		}
	}
	made := r.Must(200, "GET", "/guilds/"+r.Guild+"/audit-logs?target_id="+id, nil).JSON["audit_log_entries"].([]any)
	if len(made) != 1 {
		t.Errorf("the audit log has %d entries for it, want 1", len(made))
	}

	w, _ := identified(r, 1)
	channels := w.want(0, "GUILD_CREATE").data()["channels"].([]any)
	want := obfuscated(r, id, discordtest.TypeText, 7)
	delete(want, "guild_id")
	if d := cmp.Diff(any(want), channels[2]); len(channels) != 3 || d != "" {
		t.Errorf("%d channels in GUILD_CREATE; the hidden one (-want +got):\n%s", len(channels), d)
	}
	if c := channels[1].(obj); c["name"] != "seen" || c["flags"] != 0.0 {
		t.Errorf("the other one in GUILD_CREATE: %v", c)
	}
	r.Srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.Topic, c.Position = "new plans", 8 })
	if d := cmp.Diff(any(obfuscated(r, id, discordtest.TypeText, 8)), w.want(0, "CHANNEL_UPDATE").D); d != "" {
		t.Errorf("CHANNEL_UPDATE (-want +got):\n%s", d)
	}
	other := r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "another", Overwrites: deny(r)})
	if d := cmp.Diff(any(obfuscated(r, other, discordtest.TypeText, 0)), w.want(0, "CHANNEL_CREATE").D); d != "" {
		t.Errorf("CHANNEL_CREATE (-want +got):\n%s", d)
	}
	r.Srv.DeleteChannelByHand(other)
	if d := cmp.Diff(any(obfuscated(r, other, discordtest.TypeText, 0)), w.want(0, "CHANNEL_DELETE").D); d != "" {
		t.Errorf("CHANNEL_DELETE (-want +got):\n%s", d)
	}
}

func TestSightChanges(t *testing.T) {
	t.Parallel()
	role := func(r *rig.Rig) string { return r.Srv.AddRole(r.Guild, "Sensei", 0) }
	for name, tc := range map[string]struct {
		show, hide func(r *rig.Rig, id, group, role string)
		// event, if set, precedes the CHANNEL_UPDATEs of the channel and its category.
		event         string
		categoryFirst bool
	}{
		"an overwrite": {
			show: func(r *rig.Rig, id, _, role string) { set(r, id, discordtest.Overwrite{ID: role, Allow: view}) },
			hide: func(r *rig.Rig, id, _, _ string) { set(r, id, deny(r)...) },
		},
		"a role is given and removed": {
			show:  func(r *rig.Rig, _, _, role string) { r.Srv.GiveRole(r.Guild, r.Bot.UserID, role) },
			hide:  func(r *rig.Rig, _, _, role string) { r.Srv.TakeRole(r.Guild, r.Bot.UserID, role) },
			event: "GUILD_MEMBER_UPDATE", categoryFirst: true,
		},
		"the permissions of a role": {
			show: func(r *rig.Rig, _, _, _ string) {
				r.Srv.SetPermissions(r.Guild, r.Bot.UserID, discordtest.PermAdministrator)
			},
			hide:  func(r *rig.Rig, _, _, _ string) { r.Srv.SetPermissions(r.Guild, r.Bot.UserID, rig.Usual) },
			event: "GUILD_ROLE_UPDATE", categoryFirst: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Usual)
			sensei := role(r)
			group := r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "Alerts", Type: 4, Overwrites: deny(r)})
			id := r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{
				Name: "secret", ParentID: group,
				Overwrites: append(deny(r), discordtest.Overwrite{ID: sensei, Allow: view}),
			})
			if name == "an overwrite" {
				r.Srv.GiveRole(r.Guild, r.Bot.UserID, sensei)
				set(r, id, deny(r)...)
			}
			w, _ := identified(r, 1)
			w.want(0, "GUILD_CREATE")
			updates := func() map[any]any {
				if tc.event != "" {
					w.want(0, tc.event)
				}
				got := []any{w.want(0, "CHANNEL_UPDATE").data(), w.want(0, "CHANNEL_UPDATE").data()}
				if tc.categoryFirst != (got[0].(obj)["id"] == group) {
					t.Errorf("events %v", got)
				}
				return map[any]any{got[0].(obj)["id"]: got[0].(obj)["name"], got[1].(obj)["id"]: got[1].(obj)["name"]}
			}
			tc.show(r, id, group, sensei)
			if d := cmp.Diff(map[any]any{id: any("secret"), group: any("Alerts")}, updates()); d != "" {
				t.Errorf("shown (-want +got):\n%s", d)
			}
			if got := r.Do("GET", "/channels/"+group, nil); got.Status != 200 {
				t.Errorf("the category of a channel that may be viewed: %d %s", got.Status, got.Raw)
			}
			tc.hide(r, id, group, sensei)
			if d := cmp.Diff(map[any]any{id: any("___hidden___"), group: any("___hidden___")}, updates()); d != "" {
				t.Errorf("hidden (-want +got):\n%s", d)
			}
			if got := r.Do("GET", "/channels/"+group, nil); got.Code() != 50001 {
				t.Errorf("the category of hidden channels only: %d %s", got.Status, got.Raw)
			}
		})
	}
}

// If a user hides a category, its synced channels are hidden too. A bot that may not view a
// category still sees it while the bot sees a channel in it.
func TestSightFollowsCategory(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	group := r.Channel(obj{"name": "Alerts", "type": 4})
	id := r.Channel(obj{"name": "tokyo", "parent_id": group})
	w, _ := identified(r, 1)
	w.want(0, "GUILD_CREATE")
	next := func(event, id, name string) {
		t.Helper()
		if c := w.want(0, event).data(); c["id"] != id || c["name"] != name {
			t.Errorf("%s %v, want %s called %s", event, c, id, name)
		}
	}
	set(r, group, deny(r)...)
	next("CHANNEL_UPDATE", group, "Alerts") // not hidden yet: the bot may still view a channel in it
	next("CHANNEL_UPDATE", id, "___hidden___")
	next("CHANNEL_UPDATE", group, "___hidden___")
	set(r, id)
	next("CHANNEL_UPDATE", id, "tokyo")
	next("CHANNEL_UPDATE", group, "Alerts")
	r.Srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.ParentID = "" })
	next("CHANNEL_UPDATE", id, "tokyo")
	next("CHANNEL_UPDATE", group, "___hidden___")
	r.Srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.ParentID = group })
	next("CHANNEL_UPDATE", id, "tokyo")
	next("CHANNEL_UPDATE", group, "Alerts")
	r.Srv.DeleteChannelByHand(id)
	next("CHANNEL_DELETE", id, "tokyo")
	next("CHANNEL_UPDATE", group, "___hidden___")
}

// With Options.ShowHidden, events and lists show channels that the bot may not view, as on Discord
// until 16 November 2026.
func TestUnhidden(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.ShowHidden = true })
	id := r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "secret", Overwrites: deny(r)})
	w, _ := identified(r, 1)
	if c := w.want(0, "GUILD_CREATE").data()["channels"].([]any); len(c) != 1 || c[0].(obj)["name"] != "secret" {
		t.Errorf("GUILD_CREATE with %v", c)
	}
	if got := r.Must(200, "GET", "/guilds/"+r.Guild+"/channels", nil).List; len(got) != 1 {
		t.Errorf("listed %v", got)
	}
	if got := r.Do("GET", "/channels/"+id, nil); got.Code() != 50001 {
		t.Errorf("read: %s", got.Raw)
	}
}

func TestSharding(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) { l.GuildsPerSession = 3 })
	shards := func() any { return r.Must(200, "GET", "/gateway/bot", nil).JSON["shards"] }
	join := func() { r.Srv.AddMember(r.Srv.AddGuild(discordtest.GuildSpec{}).ID, r.Bot.UserID, 0) }
	join()
	if n := shards(); n != 1.0 {
		t.Errorf("%v shards for two guilds", n)
	}
	join()
	join()
	if n := shards(); n != 2.0 {
		t.Errorf("%v shards for four guilds of three each", n)
	}
	w := dial(r, latest)
	w.want(10, "")
	w.send(2, obj{"token": r.Bot.Token, "intents": 1})
	w.closed(4011)
	w = dial(r, latest)
	w.want(10, "")
	w.send(2, obj{"token": r.Bot.Token, "intents": 1, "shard": []int{0, 1}})
	w.closed(4011)
	if n := discordtest.DefaultLimits().GuildsPerSession; n != 2500 {
		t.Errorf("by default at %d guilds, want Discord's 2500", n)
	}
}

func TestSpuriousRefusal(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.Weakness.Unauthorized = 1 })
	identify := obj{"token": r.Bot.Token, "intents": 1, "properties": obj{}}
	w := dial(r, latest)
	w.want(10, "")
	w.send(2, identify)
	w.closed(4004)
	r.Srv.Weaken(discordtest.Weakness{})
	w = dial(r, latest)
	w.want(10, "")
	w.send(2, identify)
	w.want(0, "READY")
}

// A user can take the role that a bot's invitation created from the bot, change the role's
// permissions, and give it back.
func TestPermissionsOfARoleTaken(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	own := r.Srv.Guild(r.Guild).Members[r.Bot.UserID].Own
	create := func(want int) { r.Must(want, "POST", "/guilds/"+r.Guild+"/channels", obj{"name": "a"}) }
	r.Srv.TakeRole(r.Guild, r.Bot.UserID, own)
	create(403)
	r.Srv.SetPermissions(r.Guild, r.Bot.UserID, 0)
	r.Srv.GiveRole(r.Guild, r.Bot.UserID, own)
	create(403)
	r.Srv.SetPermissions(r.Guild, r.Bot.UserID, rig.Usual)
	create(201)
}

func TestCompatibleEvents(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.Compatible = true })
	old := r.Channel(obj{"name": "old"})
	w, _ := identified(r, intents)
	w.want(0, "GUILD_CREATE")
	id := r.Channel(obj{"name": "new"})
	r.Must(200, "PATCH", "/channels/"+id, obj{"topic": "unheard"})
	r.Must(200, "DELETE", "/channels/"+id, nil)
	r.Must(200, "PATCH", "/channels/"+old, obj{"topic": "heard"})
	r.Must(200, "DELETE", "/channels/"+old, nil)
	for _, event := range []string{"CHANNEL_CREATE", "CHANNEL_UPDATE", "CHANNEL_UPDATE", "CHANNEL_DELETE", "CHANNEL_DELETE"} {
		f := w.want(0, event)
		if want := map[bool]string{true: id, false: old}[event == "CHANNEL_CREATE"]; f.data()["id"] != want {
			t.Errorf("%s of %v, want %s", event, f.data()["id"], want)
		}
	}
}
