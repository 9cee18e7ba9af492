// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"context"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func liveOn(r *cachetest.Rig) *guildcache.View {
	r.Helper()
	v := r.Client.Guild(r.Guild)
	eventually(r.T, "the view is live", func() bool {
		s := v.Snapshot()
		return s.Mode == guildcache.ModeLive && s.Presence == guildcache.PresencePresent
	})
	return v
}

func agrees(r *cachetest.Rig, v *guildcache.View) {
	r.Helper()
	fresh, err := discordclient.New(r.Options.Options)
	if err != nil {
		r.Fatal(err)
	}
	list, err := fresh.ListChannels(r.Context(), r.Guild)
	if err != nil {
		r.Fatal(err)
	}
	eventually(r.T, "the view agrees with Discord", func() bool { return cmp.Equal(list, v.Snapshot().Channels()) })
}

func TestLiveViewFollowsUsers(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	group := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "Alerts", Type: 4})
	run(r)
	v := liveOn(r)
	events := r.Client.Subscribe(t.Context())
	id := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "tokyo", ParentID: group})
	expect(t, events, guildcache.Event{Kind: guildcache.EventChannel, GuildID: r.Guild, ChannelID: id})
	if c, ok := v.Snapshot().Channel(id); !ok || c.Name != "tokyo" || c.ParentID != group {
		t.Errorf("the view has %+v", c)
	}
	r.Discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Topic = "by hand" })
	expect(t, events, guildcache.Event{Kind: guildcache.EventChannel, GuildID: r.Guild, ChannelID: id})
	if c, _ := v.Snapshot().Channel(id); c.Topic != "by hand" {
		t.Errorf("the view has %+v", c)
	}
	r.Discord.DeleteChannelByHand(group)
	eventually(t, "the channel is in no category", func() bool {
		c, ok := v.Snapshot().Channel(id)
		return ok && c.ParentID == "" && len(v.Snapshot().Categories()) == 0
	})
	role := r.Discord.AddRole(r.Guild, "Sensei", 0)
	eventually(t, "the role is there", func() bool { return len(v.Snapshot().RolesNamed("Sensei")) == 1 })
	r.Discord.DeleteRole(r.Guild, role)
	eventually(t, "the role is gone", func() bool { _, ok := v.Snapshot().Role(role); return !ok })
	r.Discord.EditGuildByHand(r.Guild, func(g *discordtest.Guild) { g.Name = "Renamed" })
	eventually(t, "the guild is renamed", func() bool { return v.Snapshot().Guild.Name == "Renamed" })
	agrees(r, v)
	if got := r.Discord.RequestCounts()["GET /guilds/{guild_id}"]; got != 0 {
		t.Errorf("%d GETs of the guild, want none while the Gateway is up", got)
	}
}

func expect(t *testing.T, events <-chan guildcache.Event, want guildcache.Event) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case got := <-events:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("no event %+v", want)
		}
	}
}

func TestTheViewHasOwnWritesImmediately(t *testing.T) {
	t.Parallel()
	for name, gatewayDown := range map[string]bool{"live": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) { o.DisableGateway = gatewayDown })
			run(r)
			v := r.Client.Guild(r.Guild)
			eventually(t, "the view is known", func() bool { return v.Snapshot().Presence == guildcache.PresencePresent })
			ctx := t.Context()
			group := r.Create(discordclient.ChannelCreate{Name: "Alerts", Type: discordgo.ChannelTypeGuildCategory})
			c := r.Create(discordclient.ChannelCreate{Name: "tokyo"})
			sees := func(what string, ok func(c *discordclient.Channel) bool) {
				t.Helper()
				if got, found := v.Snapshot().Channel(c.ID); !found || !ok(got) {
					t.Errorf("after %s the view has %+v", what, got)
				}
			}
			sees("the create", func(got *discordclient.Channel) bool { return cmp.Equal(c, got) })
			if hooks, known := v.Snapshot().Webhooks(c.ID); !known || len(hooks) != 0 {
				t.Error("a new channel's webhooks are not known to be none")
			}
			_, err := r.Client.EditChannel(ctx, c.ID, discordclient.ChannelEdit{Topic: discordclient.Set("fire"), ParentID: discordclient.Set(group.ID)}, "")
			sees("the edit", func(got *discordclient.Channel) bool { return err == nil && got.Topic == "fire" })
			err = r.Client.MoveChannels(ctx, r.Guild, []discordclient.Move{{ID: c.ID, Position: 9}})
			sees("the move", func(got *discordclient.Channel) bool {
				return err == nil && got.Position == 9 && got.ParentID == group.ID
			})
			for _, want := range [][]discordclient.Overwrite{{{ID: r.Guild, Deny: permissions.AddReactions}}, nil} {
				_, err = r.Client.EditChannel(ctx, c.ID, discordclient.ChannelEdit{Overwrites: discordclient.Set(want)}, "")
				sees("the overwrite", func(got *discordclient.Channel) bool { return err == nil && cmp.Equal(got.Overwrites, want) })
			}
			err = r.Client.DeleteChannel(ctx, group.ID, "")
			sees("the category's end", func(got *discordclient.Channel) bool { return err == nil && got.ParentID == "" })
			if _, err = r.Client.EditGuild(ctx, r.Guild, discordclient.GuildEdit{Name: discordclient.Set("Kyoto")}, ""); err != nil || v.Snapshot().Guild.Name != "Kyoto" {
				t.Errorf("after the edit the guild is %q, %v", v.Snapshot().Guild.Name, err)
			}
			if err := r.Client.DeleteChannel(ctx, c.ID, ""); err != nil {
				t.Fatal(err)
			}
			if _, found := v.Snapshot().Channel(c.ID); found {
				t.Error("the deleted channel is still in the view")
			}
			agrees(r, v)
		})
	}
}

func TestWebhooksAreKnownUntilOthersChangeThem(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	run(r)
	v := liveOn(r)
	ctx := t.Context()
	events := r.Client.Subscribe(ctx)
	c := r.Create(discordclient.ChannelCreate{Name: "tokyo"})
	hook, err := r.Client.CreateWebhook(ctx, c.ID, "alertmanager", "")
	if err != nil {
		t.Fatal(err)
	}
	// The marker's event comes after the events of all earlier calls.
	marker := func() {
		id := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "marker"})
		expect(t, events, guildcache.Event{Kind: guildcache.EventChannel, GuildID: r.Guild, ChannelID: id})
	}
	marker()
	if hooks, known := v.Snapshot().Webhooks(c.ID); !known || !cmp.Equal(hooks, []discordclient.Webhook{hook}) {
		t.Errorf("known %v: %v, want the own webhook", known, hooks)
	}
	r.Discord.DeleteWebhookByHand(hook.ID)
	expect(t, events, guildcache.Event{Kind: guildcache.EventWebhooks, GuildID: r.Guild, ChannelID: c.ID})
	if _, known := v.Snapshot().Webhooks(c.ID); known {
		t.Error("the webhooks count as known after a user changed them")
	}
	if _, err := r.Client.ListGuildWebhooks(ctx, r.Guild); err != nil {
		t.Fatal(err)
	}
	if hooks, known := v.Snapshot().Webhooks(c.ID); !known || len(hooks) != 0 {
		t.Errorf("known %v: %v, want none", known, hooks)
	}
	second, err := r.Client.CreateWebhook(ctx, c.ID, "b", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.Client.RenameWebhook(ctx, second.ID, "c", ""); err != nil {
		t.Fatal(err)
	}
	marker()
	if hooks, known := v.Snapshot().Webhooks(c.ID); !known || len(hooks) != 1 || hooks[0].Name != "c" {
		t.Errorf("known %v: %v, want the renamed one", known, hooks)
	}
	if err := r.Client.DeleteWebhook(ctx, second.ID, ""); err != nil {
		t.Fatal(err)
	}
	marker()
	if hooks, known := v.Snapshot().Webhooks(c.ID); !known || len(hooks) != 0 {
		t.Errorf("known %v: %v, want none", known, hooks)
	}
}

func TestBotPermissions(t *testing.T) {
	t.Parallel()
	for name, gatewayDown := range map[string]bool{"live": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t, func(d *discordtest.Options, o *guildcache.Options) {
				// Without ShowHidden, the view would lack the overwrites of the channel that the
				// bot may not view.
				d.ShowHidden, o.DisableGateway = true, gatewayDown
			})
			v := r.Client.Guild(r.Guild) // request the view before the Gateway sends the bot's roles
			run(r)
			eventually(t, "the view is known", func() bool { return v.Snapshot().Presence == guildcache.PresencePresent })
			if gatewayDown {
				if _, exact := v.Snapshot().BotPermissions(); exact {
					t.Error("permissions count as exact, though the bot's roles were never read")
				}
				if _, err := r.Client.CurrentUser(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Client.GetMember(t.Context(), r.Guild, r.Bot.UserID); err != nil {
					t.Fatal(err)
				}
			}
			if got, exact := v.Snapshot().BotPermissions(); !exact || !got.Has(discordclient.PermissionsOverwrites) {
				t.Errorf("permissions %s, exact %v", got, exact)
			}
			if gatewayDown {
				return
			}
			r.Discord.SetPermissions(r.Guild, r.Bot.UserID, discordtest.Permissions(permissions.ViewChannel))
			eventually(t, "the bot lacks the removed permission", func() bool {
				got, exact := v.Snapshot().BotPermissions()
				return exact && got.Missing(discordclient.PermissionsCore) == permissions.ManageChannels|permissions.ManageWebhooks
			})
			id := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "private", Overwrites: []discordtest.Overwrite{{ID: r.Guild, Deny: discordtest.Permissions(permissions.ViewChannel)}}})
			eventually(t, "the private channel is there", func() bool { _, ok := v.Snapshot().Channel(id); return ok })
			c, _ := v.Snapshot().Channel(id)
			if got, exact := v.Snapshot().BotPermissionsIn(c); !exact || got.Has(permissions.ViewChannel) {
				t.Errorf("in a private channel: %s, exact %v", got, exact)
			}
		})
	}
}

func TestPresence(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	run(r)
	v := liveOn(r)
	elsewhere := r.Client.Guild("1")
	eventually(t, "a guild that the bot is not in is absent", func() bool { return elsewhere.Snapshot().Presence == guildcache.PresenceAbsent })
	r.Discord.Gateway().Outage(r.Guild, true)
	eventually(t, "the guild is unavailable, not absent", func() bool { return v.Snapshot().Presence == guildcache.PresenceUnavailable })
	r.Discord.Gateway().Outage(r.Guild, false)
	eventually(t, "the outage has ended", func() bool { return v.Snapshot().Presence == guildcache.PresencePresent })
	r.Discord.RemoveMember(r.Guild, r.Bot.UserID)
	eventually(t, "the removal", func() bool { return v.Snapshot().Presence == guildcache.PresenceAbsent })
	r.Discord.AddMember(r.Guild, r.Bot.UserID, cachetest.Usual)
	eventually(t, "the bot is back", func() bool { return v.Snapshot().Presence == guildcache.PresencePresent })
}

func TestDeletingAGuildShowsInTheView(t *testing.T) {
	t.Parallel()
	for name, live := range map[string]bool{"live": true, "polled": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t, func(o *discordtest.Options, _ *guildcache.Options) { o.AllowGuildDeletion = true })
			own := r.Discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto", OwnerID: r.Bot.UserID})
			v := r.Client.Guild(own.ID)
			if live {
				run(r)
				liveOn(r)
			}
			r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{Miss: func(string) bool { return true }})
			if err := r.Client.Refresh(t.Context(), own.ID); err != nil || v.Snapshot().Presence != guildcache.PresencePresent {
				t.Fatalf("the guild is %q, %v", v.Snapshot().Presence, err)
			}
			if err := r.Client.DeleteGuild(t.Context(), own.ID); err != nil {
				t.Fatal(err)
			}
			if got := v.Snapshot(); got.Presence != guildcache.PresenceAbsent || len(got.Channels()) != 0 {
				t.Errorf("the guild is %q with %d channels", got.Presence, len(got.Channels()))
			}
		})
	}
}

func TestSubscriptionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	events := r.Client.Subscribe(ctx)
	cancel()
	select {
	case _, open := <-events:
		if open {
			t.Error("an event came out of nothing")
		}
	case <-time.After(time.Minute):
		t.Error("the channel is not closed")
	}
}
