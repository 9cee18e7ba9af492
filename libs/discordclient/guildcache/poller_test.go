// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Polling costs one GET of the guild and one of its channels, whatever the number of objects.
func TestPollingCostsTwoCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *discordtest.Options, o *guildcache.Options) {
		o.DisableGateway = true
		o.Resync = 50 * time.Millisecond
	})
	for range 50 {
		r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "a"})
	}
	r.run()
	v := r.client.Guild(r.guild)
	lists := func() int { return r.srv.RequestCounts()["GET /guilds/{guild_id}/channels"] }
	eventually(t, "five polls", func() bool { return lists() >= 5 })
	id := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "late"})
	eventually(t, "the new channel is seen", func() bool { _, ok := v.Snapshot().Channel(id); return ok })
	if s := v.Snapshot(); s.Mode != guildcache.ModePolled || time.Since(v.AsOf()) > 10*time.Second {
		t.Errorf("mode %q as of %v", s.Mode, v.AsOf())
	}
	r.client.Forget(r.guild)
	eventually(t, "nothing but the two calls, equally often", func() bool {
		counts := r.srv.RequestCounts()
		return len(counts) == 2 && counts["GET /guilds/{guild_id}"] == lists()
	})
}

// An unknown guild is believed only when its channels cannot be read either.
func TestUnknownGuildIsConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := r.client.Guild(r.guild)
	remove := r.srv.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}", Action: discordtest.Action{Status: 404, Body: `{"message":"Unknown Guild","code":10004}`}})
	wantClass(t, r.client.Refresh(t.Context(), r.guild), discordclient.ClassTransient)
	if got := v.Snapshot().Presence; got != guildcache.PresenceUnknown {
		t.Errorf("the guild is %q after half a proof", got)
	}
	block := r.srv.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/channels", Action: discordtest.Action{Status: 403, Body: `<html>blocked</html>`}})
	wantClass(t, r.client.Refresh(t.Context(), r.guild), discordclient.ClassDenied)
	if got := v.Snapshot().Presence; got != guildcache.PresenceUnknown {
		t.Errorf("the guild is %q, because something that is not Discord refused its channels", got)
	}
	block()
	remove()
	r.srv.RemoveMember(r.guild, r.bot.UserID)
	wantClass(t, r.client.Refresh(t.Context(), r.guild), discordclient.ClassGone)
	if got := v.Snapshot().Presence; got != guildcache.PresenceAbsent {
		t.Errorf("the guild is %q, want absent", got)
	}
}

// heldList has the next list of channels made now and answered when release is called; asked waits
// until it was made.
func (r *rig) heldList() (asked, release func()) {
	hold := make(chan struct{})
	r.srv.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/channels", Times: 1, Action: discordtest.Hold(hold)})
	before := r.srv.RequestCounts()["GET /guilds/{guild_id}/channels"]
	return func() {
		eventually(r.t, "the list is asked for", func() bool { return r.srv.RequestCounts()["GET /guilds/{guild_id}/channels"] > before })
	}, func() { close(hold) }
}

// A list that was made before own writes, and arrives after them, does not undo them.
func TestAListDoesNotUndoOwnWrites(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *discordtest.Options, o *guildcache.Options) { o.DisableGateway = true })
	v := r.client.Guild(r.guild)
	edited, deleted := r.create(discordclient.ChannelCreate{Name: "edited"}), r.create(discordclient.ChannelCreate{Name: "deleted"})
	asked, release := r.heldList()
	done := make(chan error, 1)
	go func() { done <- r.client.Refresh(t.Context(), r.guild) }()
	asked()
	created := r.create(discordclient.ChannelCreate{Name: "created"})
	if _, err := r.client.EditChannel(t.Context(), edited.ID, discordclient.ChannelEdit{Topic: discordclient.Set("new")}, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.client.DeleteChannel(t.Context(), deleted.ID, ""); err != nil {
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

// A list that was made before the Gateway came up, and arrives after it, is not believed.
func TestAListThatTheGatewayOvertookIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	asked, release := r.heldList()
	done := make(chan error, 1)
	go func() { done <- r.client.Refresh(t.Context(), r.guild) }()
	asked()
	id := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "by-hand"})
	r.run()
	v := r.live()
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, ok := v.Snapshot().Channel(id); !ok || v.Snapshot().Mode != guildcache.ModeLive {
		t.Error("an old list replaced what the Gateway had brought")
	}
}

// A call that hangs concerns its own guild alone.
func TestAHangingPollHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *discordtest.Options, o *guildcache.Options) {
		o.DisableGateway, o.Timeout = true, time.Hour
	})
	second := r.srv.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID
	r.srv.AddMember(second, r.bot.UserID, usual)
	release := make(chan struct{})
	defer close(release)
	var hangs atomic.Value
	r.srv.Faults().Add(discordtest.Fault{
		Route: "GET /guilds/{guild_id}", Action: discordtest.Hold(release),
		Match: func(q discordtest.Request) bool { return hangs.CompareAndSwap(nil, q.Path) || hangs.Load() == q.Path },
	})
	views := []*guildcache.View{r.client.Guild(r.guild), r.client.Guild(second)}
	r.run()
	eventually(t, "the other guild is read", func() bool {
		return views[0].Snapshot().Mode == guildcache.ModePolled || views[1].Snapshot().Mode == guildcache.ModePolled
	})
}
