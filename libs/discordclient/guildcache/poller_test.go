// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

func TestPollingCostsTwoCalls(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) {
		o.DisableGateway = true
		o.Resync = 50 * time.Millisecond
	})
	for range 50 {
		r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "a"})
	}
	run(r)
	v := r.Client.Guild(r.Guild)
	lists := func() int { return r.Discord.RequestCounts()["GET /guilds/{guild_id}/channels"] }
	eventually(t, "five polls", func() bool { return lists() >= 5 })
	id := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "late"})
	eventually(t, "the new channel is seen", func() bool { _, ok := v.Snapshot().Channel(id); return ok })
	if s := v.Snapshot(); s.Mode != guildcache.ModePolled || time.Since(v.AsOf()) > 10*time.Second {
		t.Errorf("mode %q as of %v", s.Mode, v.AsOf())
	}
	r.Client.Forget(r.Guild)
	eventually(t, "nothing but the two calls, equally often", func() bool {
		counts := r.Discord.RequestCounts()
		return len(counts) == 2 && counts["GET /guilds/{guild_id}"] == lists()
	})
}

func TestUnknownGuildIsConfirmed(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	v := r.Client.Guild(r.Guild)
	remove := r.Discord.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}", Action: discordtest.Action{Status: 404, Body: `{"message":"Unknown Guild","code":10004}`}})
	cachetest.WantClass(t, r.Client.Refresh(t.Context(), r.Guild), discordclient.ClassTransient)
	if got := v.Snapshot().Presence; got != guildcache.PresenceUnknown {
		t.Errorf("the guild is %q after half a proof", got)
	}
	block := r.Discord.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/channels", Action: discordtest.Action{Status: 403, Body: `<html>blocked</html>`}})
	cachetest.WantClass(t, r.Client.Refresh(t.Context(), r.Guild), discordclient.ClassDenied)
	if got := v.Snapshot().Presence; got != guildcache.PresenceUnknown {
		t.Errorf("the guild is %q, because something that is not Discord refused its channels", got)
	}
	block()
	remove()
	r.Discord.RemoveMember(r.Guild, r.Bot.UserID)
	cachetest.WantClass(t, r.Client.Refresh(t.Context(), r.Guild), discordclient.ClassGone)
	if got := v.Snapshot().Presence; got != guildcache.PresenceAbsent {
		t.Errorf("the guild is %q, want absent", got)
	}
}

func TestALiveGuildIsNotAbsentAfterOnePoll(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	run(r)
	v, kept := liveOn(r), r.Create(discordclient.ChannelCreate{Name: "kept"})
	for route, answer := range map[string]string{
		"GET /guilds/{guild_id}": `{"message":"Unknown Guild","code":10004}`, "GET /guilds/{guild_id}/channels": `{"message":"Missing Access","code":50001}`,
	} {
		r.Discord.Faults().Add(discordtest.Fault{Route: route, Times: 1, Action: discordtest.Action{Status: 404, Body: answer}})
	}
	cachetest.WantClass(t, r.Client.Refresh(t.Context(), r.Guild), discordclient.ClassGone)
	got := v.Snapshot()
	if _, ok := got.Channel(kept.ID); !ok || got.Presence != guildcache.PresencePresent {
		t.Errorf("the guild is %q, and its channel exists: %t", got.Presence, ok)
	}
	if err := r.Client.Refresh(t.Context(), r.Guild); err != nil || v.Snapshot().Presence != guildcache.PresencePresent {
		t.Errorf("then the guild is %q: %v", v.Snapshot().Presence, err)
	}
}

// heldList makes Discord hold back the next list of channels until release is called. asked waits
// for the request for this list.
func heldList(r *cachetest.Rig) (asked, release func()) {
	hold := make(chan struct{})
	r.Discord.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/channels", Times: 1, Action: discordtest.Hold(hold)})
	before := r.Discord.RequestCounts()["GET /guilds/{guild_id}/channels"]
	return func() {
		eventually(r.T, "the list is asked for", func() bool { return r.Discord.RequestCounts()["GET /guilds/{guild_id}/channels"] > before })
	}, func() { close(hold) }
}

func TestAListDoesNotUndoOwnWrites(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) { o.DisableGateway = true })
	v := r.Client.Guild(r.Guild)
	edited, deleted := r.Create(discordclient.ChannelCreate{Name: "edited"}), r.Create(discordclient.ChannelCreate{Name: "deleted"})
	asked, release := heldList(r)
	done := make(chan error, 1)
	go func() { done <- r.Client.Refresh(t.Context(), r.Guild) }()
	asked()
	created := r.Create(discordclient.ChannelCreate{Name: "created"})
	if _, err := r.Client.EditChannel(t.Context(), edited.ID, discordclient.ChannelEdit{Topic: discordclient.Set("new")}, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.DeleteChannel(t.Context(), deleted.ID, ""); err != nil {
		t.Fatal(err)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s := v.Snapshot()
	if _, ok := s.Channel(created.ID); !ok {
		t.Error("the created channel is gone from the view: it would be created again")
	}
	if c, ok := s.Channel(edited.ID); !ok || c.Topic != "new" {
		t.Errorf("the edited channel is %+v", c)
	}
	if _, ok := s.Channel(deleted.ID); ok {
		t.Error("the deleted channel is back")
	}
}

func TestAListThatTheGatewayOvertookIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	asked, release := heldList(r)
	done := make(chan error, 1)
	go func() { done <- r.Client.Refresh(t.Context(), r.Guild) }()
	asked()
	id := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "by-hand"})
	run(r)
	v := liveOn(r)
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, ok := v.Snapshot().Channel(id); !ok || v.Snapshot().Mode != guildcache.ModeLive {
		t.Error("an old list replaced what the Gateway had brought")
	}
}

func TestAHangingPollDoesNotBlockOtherGuilds(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) {
		o.DisableGateway, o.Timeout = true, time.Hour
	})
	second := r.Discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID
	r.Discord.AddMember(second, r.Bot.UserID, cachetest.Usual)
	release := make(chan struct{})
	defer close(release)
	var hangs atomic.Value
	r.Discord.Faults().Add(discordtest.Fault{
		Route: "GET /guilds/{guild_id}", Action: discordtest.Hold(release),
		Match: func(q discordtest.Request) bool { return hangs.CompareAndSwap(nil, q.Path) || hangs.Load() == q.Path },
	})
	views := []*guildcache.View{r.Client.Guild(r.Guild), r.Client.Guild(second)}
	run(r)
	eventually(t, "the other guild is read", func() bool {
		return views[0].Snapshot().Mode == guildcache.ModePolled || views[1].Snapshot().Mode == guildcache.ModePolled
	})
}
