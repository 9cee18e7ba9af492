// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

func (st *Store) reading() { st.Refreshed("1", PresencePresent, time.Now()) }

func TestAStaleViewReportsItsAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, view := newTestStore(t)
		st.session(t, guildWith20)
		st.Alive()
		later := func(d time.Duration) {
			<-time.After(d) // the clock of the synctest bubble
			st.Alive()
		}
		later(time.Minute)
		gap := time.Now()
		st.Dispatch("X", nil, true)
		later(time.Minute)
		if got := view.AsOf(); !got.Equal(gap) {
			t.Errorf("a minute after a gap the view says it is up to date as of %v, and the gap was at %v", got, gap)
		}
		if got := st.Health().OldestView; got != time.Minute {
			t.Errorf("the oldest view is %v old, want the minute since the gap", got)
		}
		st.Dispatch("X", nil, true)
		st.reading()
		if id, wait := st.Due(time.Now()); id != "" || wait != consistencyDelay {
			t.Errorf("after a reading that may lag behind the gap, another is due in %v, want %v", wait, consistencyDelay)
		}
		if got := time.Since(view.AsOf()); got != consistencyDelay {
			t.Errorf("after that reading the view is %v old, want %v", got, consistencyDelay)
		}
		later(consistencyDelay)
		st.reading()
		later(time.Second)
		if got := view.AsOf(); !got.Equal(time.Now()) {
			t.Errorf("the view is fresh, and of %v", got)
		}
		st.Dispatch("X", nil, true)
		gap = time.Now()
		later(time.Minute)
		st.Disconnected(nil)
		if got := view.AsOf(); !got.Equal(gap) {
			t.Errorf("disconnected while stale, the view says it is up to date as of %v, and the gap was at %v", got, gap)
		}
		if id, wait := st.Due(time.Now()); id != "1" {
			t.Errorf("disconnected while stale, the view is read in %v, want at once", wait)
		}
	})
}

func TestAStaleViewIsReadWhenRequested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, _ := newTestStore(t)
		st.session(t, guildWith20)
		st.Alive()
		st.Forget("1")
		st.Dispatch("X", nil, true)
		<-time.After(time.Minute)
		st.Alive()
		if id, wait := st.Due(time.Now()); id != "" || wait >= 0 {
			t.Errorf("guild %q, which is not wanted, is due in %v", id, wait)
		}
		view, _ := st.Want("1")
		if id, wait := st.Due(time.Now()); id != "1" {
			t.Errorf("the guild is due in %v, want now", wait)
		}
		if got := view.AsOf(); !got.IsZero() {
			t.Errorf("the view says it is up to date as of %v, and was never read", got)
		}
	})
}

func TestAPollFromBeforeASessionDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, view := newTestStore(t)
		st.session(t, guildWith20)
		st.Disconnected(nil)
		asked := time.Now()
		<-time.After(time.Second)
		st.Connecting()
		st.receive(t, "READY", `{"user":{"id":"9"},"guilds":[]}`)
		st.Refreshed("1", PresencePresent, asked)
		if got := view.Snapshot().Presence; got != PresenceAbsent {
			t.Errorf("the guild is %q", got)
		}
	})
}

// The store emits events for the children of a deleted category and for a channel that Discord does
// not find, because later events or readings show no change of them.
func TestAViewReportsLostChannels(t *testing.T) {
	t.Parallel()
	const guild = `{"id":"1","channels":[{"id":"20","type":4,"name":"a"},{"id":"21","type":0,"name":"b","parent_id":"20"}]}`
	for name, tc := range map[string]struct {
		act  func(t *testing.T, st *Store)
		want []string
	}{
		"a category deleted by hand": {func(t *testing.T, st *Store) {
			t.Helper()
			st.receive(t, "CHANNEL_DELETE", `{"id":"20","guild_id":"1"}`)
		}, []string{"21", "20"}},
		"a category deleted by this client": {func(_ *testing.T, st *Store) {
			_ = st.Write(func() (map[string]*discordclient.Channel, error) {
				return map[string]*discordclient.Channel{"20": nil}, nil
			}, "20")
		}, []string{"21"}},
		"a channel that Discord does not find": {func(_ *testing.T, st *Store) {
			_ = st.Write(func() (map[string]*discordclient.Channel, error) {
				return nil, &discordclient.Error{Class: discordclient.ClassGone, Code: discordgo.ErrCodeUnknownChannel}
			}, "21")
		}, []string{"21"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, _ := newTestStore(t)
			st.session(t, guild)
			events := st.Events().Subscribe(t.Context())
			tc.act(t, st)
			for _, id := range tc.want {
				if got := <-events; got != (Event{Kind: EventChannel, GuildID: "1", ChannelID: id}) {
					t.Errorf("got %+v, want channel %s", got, id)
				}
			}
		})
	}
}

// The response to an own edit may be older than an event that came before it.
func TestAnEventDuringAnEditCausesAnotherReading(t *testing.T) {
	t.Parallel()
	st, _ := newTestStore(t)
	st.session(t, `{"id":"1","name":"old"}`)
	edit := func(meanwhile func()) {
		t.Helper()
		if _, err := st.EditGuild("1", func() (discordclient.Guild, error) {
			meanwhile()
			return discordclient.Guild{ID: "1", Name: "new"}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	edit(func() {})
	if st.stale() {
		t.Error("an edit without concurrent events makes the view stale")
	}
	edit(func() {
		st.receive(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"r","permissions":"0"}}`)
	})
	if !st.stale() {
		t.Error("the view lacks the role, and the guild is not read again")
	}
}

func TestUnusedGuildsAndChannelsLeaveTheMemory(t *testing.T) {
	t.Parallel()
	st, _ := newTestStore(t)
	if _, err := st.EditGuild("1", func() (discordclient.Guild, error) { st.Forget("1"); return discordclient.Guild{ID: "1"}, nil }); err != nil {
		t.Fatal(err)
	}
	if n := st.Health().Guilds; n != 0 {
		t.Errorf("%d guilds are kept, though the only guild was forgotten during an edit", n)
	}
	st.Want("1")
	st.session(t, `{"id":"1","channels":[{"id":"20","type":0},{"id":"21","type":0},{"id":"22","type":0}]}`)
	for _, id := range []string{"20", "21", "22"} {
		_ = st.writeWebhook(id, nil)
	}
	st.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
	st.receive(t, "CHANNEL_DELETE", `{"id":"21","guild_id":"1"}`)
	st.Listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1"}}, time.Now())
	_ = st.writeWebhook("20", &discordclient.Error{Class: discordclient.ClassInvalid})
	for id, changes := range st.guilds["1"].hookChanges {
		if len(changes.own) > 0 || id != "20" {
			t.Errorf("the store still waits for changes of channel %s: %+v", id, changes)
		}
	}
}
