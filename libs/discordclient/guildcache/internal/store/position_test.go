// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

func channelOf(t *testing.T, data string) *discordclient.Channel {
	t.Helper()
	var c discordclient.Channel
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestAnswersWithoutPosition(t *testing.T) {
	t.Parallel()
	const (
		guild  = `{"id":"1","name":"g","channels":[{"id":"20","type":0,"name":"a","position":7}]}`
		edited = `{"id":"20","guild_id":"1","type":0,"name":"b"}`
	)
	position := func(t *testing.T, v *View, want int) {
		t.Helper()
		if c, _ := v.Snapshot().Channel("20"); c == nil || c.PositionUnknown || c.Position != want {
			t.Errorf("the channel is %+v, want it at position %d", c, want)
		}
	}
	edit := func(t *testing.T, st *Store) {
		t.Helper()
		err := st.Write(func() (map[string]*discordclient.Channel, error) {
			return map[string]*discordclient.Channel{"20": channelOf(t, edited)}, nil
		}, "20")
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*testing.T, *Store){
		"of an edit":                  edit,
		"of an event":                 func(t *testing.T, st *Store) { st.receive(t, "CHANNEL_UPDATE", edited) },
		"of the event of an own edit": func(t *testing.T, st *Store) { edit(t, st); st.receive(t, "CHANNEL_UPDATE", edited) },
		"of the event of an own edit, sent twice": func(t *testing.T, st *Store) {
			edit(t, st)
			st.receive(t, "CHANNEL_UPDATE", edited)
			st.receive(t, "CHANNEL_UPDATE", edited)
		},
		"of a list": func(t *testing.T, st *Store) {
			st.Listed("1", []*discordclient.Channel{channelOf(t, edited)}, time.Now())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, view := newTestStore(t)
				st.session(t, guild)
				<-time.After(time.Minute)
				change(t, st)
				position(t, view, 7)
				if st.stale() {
					t.Error("the guild is read again")
				}
			})
		})
	}
	t.Run("of an event that changes no other field", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			st, view := newTestStore(t)
			st.session(t, guild)
			<-time.After(time.Minute)
			st.receive(t, "CHANNEL_UPDATE", `{"id":"20","guild_id":"1","type":0,"name":"a"}`)
			if !st.stale() {
				t.Fatal("the guild is not read again, though a user may have moved the channel")
			}
			st.Listed("1", []*discordclient.Channel{channelOf(t, `{"id":"20","guild_id":"1","type":0,"name":"a","position":2}`)}, time.Now())
			position(t, view, 2)
		})
	})
	t.Run("of a create", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			st, view := newTestStore(t)
			st.Refreshed("1", PresencePresent, time.Now())
			for range 3 {
				<-time.After(time.Second)
				st.Created("1", channelOf(t, `{"id":"20","guild_id":"1","type":0,"name":"a"}`))
			}
			if c, _ := view.Snapshot().Channel("20"); !c.PositionUnknown {
				t.Errorf("the channel is %+v, want an unknown position", c)
			}
			if id, wait := st.Due(time.Now()); id != "" || wait <= 0 || wait > consistencyDelay {
				t.Errorf("the guild is read in %v, want one reading for several creates", wait)
			}
			st.Listed("1", []*discordclient.Channel{channelOf(t, `{"id":"20","guild_id":"1","type":0,"name":"a","position":2}`)}, time.Now())
			position(t, view, 2)
		})
	})
}
