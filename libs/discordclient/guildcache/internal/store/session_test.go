// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// A list that was requested before GUILD_CREATE may lack changes that no later event brings.
func TestListAskedForWhileASessionBegan(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.Connecting()
	asked := time.Now()
	st.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
	st.Dispatch("GUILD_CREATE", []byte(`{"id":"1","name":"new","channels":[{"id":"5","type":0,"name":"new"}]}`), false)
	st.Listed("1", []*discordclient.Channel{{ID: "5", GuildID: "1", Name: "old"}}, asked)
	st.Read(discordclient.Guild{ID: "1", Name: "old"}, asked)
	if s := view.Snapshot(); s.Guild.Name != "new" || s.Channels()[0].Name != "new" {
		t.Errorf("the view went back to %q and %q", s.Guild.Name, s.Channels()[0].Name)
	}
	st.Listed("1", []*discordclient.Channel{{ID: "5", GuildID: "1", Name: "newer"}}, time.Now())
	if got := view.Snapshot().Channels()[0].Name; got != "newer" {
		t.Errorf("a newer list is ignored: %q", got)
	}
}

func TestStalenessDuringAPollStays(t *testing.T) {
	t.Parallel()
	st, _ := newTestStore(t)
	st.Connecting()
	st.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
	st.Dispatch("GUILD_CREATE", []byte(`{"id":"1"}`), false)
	if id, _ := st.Due(time.Now()); id != "" {
		t.Error("a live guild is polled")
	}
	reading := time.Now()
	st.Dispatch("TYPING_START", []byte(`{}`), true)
	st.Refreshed("1", PresencePresent, reading)
	if id, _ := st.Due(time.Now()); id != "1" {
		t.Error("the gap is forgotten")
	}
	st.Refreshed("1", PresencePresent, time.Now())
	if id, _ := st.Due(time.Now()); id != "" {
		t.Error("the gap is never forgotten")
	}
}
