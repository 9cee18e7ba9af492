// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

func hide(r *cachetest.Rig, id string) {
	r.Discord.EditChannelByHand(id, func(c *discordtest.Channel) {
		c.Overwrites = []discordtest.Overwrite{{ID: r.Guild, Deny: discordtest.PermViewChannel}}
	})
}

func show(r *cachetest.Rig, id string) {
	r.Discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Overwrites = nil })
}

func TestAHiddenChannelStaysInTheView(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	view := r.Client.Guild(r.Guild)
	open := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "open"})
	id := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "secret", Topic: "plans", Position: 3})
	hide(r, id)
	run(r)
	expect := func(when string, hidden bool, total int) {
		t.Helper()
		eventually(t, when, func() bool {
			s := view.Snapshot()
			_, visible := s.Channel(id)
			return s.Mode == guildcache.ModeLive && s.Hidden(id) == hidden && visible == !hidden && len(s.All()) == total
		})
	}
	expect("hidden from the start", true, 2)
	for _, c := range view.Snapshot().All() {
		want := &discordclient.Channel{ID: id, GuildID: r.Guild, Position: 3, Hidden: true}
		if d := cmp.Diff(want, c); c.ID == id && d != "" {
			t.Errorf("taken from a hidden channel (-want +got):\n%s", d)
		}
	}
	if list := view.Snapshot().Channels(); len(list) != 1 || list[0].ID != open {
		t.Errorf("channels %v, want the one that may be viewed", list)
	}
	if err := r.Client.Refresh(t.Context(), r.Guild); err != nil {
		t.Fatal(err)
	}
	expect("the list lacks it", true, 2)
	show(r, id)
	expect("shown", false, 2)
	hide(r, id)
	expect("hidden again", true, 2)
	r.Discord.Gateway().Drop(0)
	expect("connected again", true, 2)
	r.Discord.DeleteChannelByHand(id)
	eventually(t, "deleted", func() bool { return !view.Snapshot().Hidden(id) && len(view.Snapshot().All()) == 1 })
}

func TestAnOwnEditHidesAChannel(t *testing.T) {
	t.Parallel()
	for _, answerLast := range []bool{false, true} {
		r := cachetest.New(t)
		view := r.Client.Guild(r.Guild)
		run(r)
		eventually(t, "live", func() bool { return view.Snapshot().Mode == guildcache.ModeLive })
		id := r.Create(discordclient.ChannelCreate{Name: "a"}).ID
		release := make(chan struct{})
		if answerLast {
			r.Discord.Faults().Add(discordtest.Fault{Route: "PATCH /channels/{channel_id}", Times: 1, Action: discordtest.Hold(release)})
		}
		done := make(chan error, 1)
		go func() {
			_, err := r.Client.EditChannel(t.Context(), id, discordclient.ChannelEdit{
				Overwrites: discordclient.Set([]discordclient.Overwrite{{ID: r.Guild, Deny: 1 << 10}}),
			}, "")
			done <- err
		}()
		if answerLast {
			eventually(t, "the event is first", func() bool { return view.Snapshot().Hidden(id) })
		}
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		eventually(t, "hidden", func() bool { return view.Snapshot().Hidden(id) })
	}
}
