package discordclient

import (
	"testing"
	"time"
)

// A list that was asked for while a session began, and arrives after its GUILD_CREATE, may be older than that: what
// happened in between would be lost for good, since no event will tell it again.
func TestListAskedForWhileASessionBegan(t *testing.T) {
	t.Parallel()
	o, _, err := Options{Token: NewSecret("token")}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(&o)
	view, _ := h.want("1")
	h.Connecting()
	asked := time.Now()
	h.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
	h.Dispatch("GUILD_CREATE", []byte(`{"id":"1","name":"new","channels":[{"id":"5","type":0,"name":"new"}]}`), false)
	h.listed("1", []*Channel{{ID: "5", GuildID: "1", Name: "old"}}, asked)
	h.read(Guild{ID: "1", Name: "old"}, asked)
	if s := view.Snapshot(); s.Guild.Name != "new" || s.Channels()[0].Name != "new" {
		t.Errorf("the view went back to %q and %q", s.Guild.Name, s.Channels()[0].Name)
	}
	h.listed("1", []*Channel{{ID: "5", GuildID: "1", Name: "newer"}}, time.Now())
	if got := view.Snapshot().Channels()[0].Name; got != "newer" {
		t.Errorf("a newer list is not believed: %q", got)
	}
}

// Doubt that comes up while a guild is being read is not settled by that reading.
func TestDoubtDuringAReadingStays(t *testing.T) {
	t.Parallel()
	o, _, err := Options{Token: NewSecret("token")}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(&o)
	h.want("1")
	h.Connecting()
	h.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
	h.Dispatch("GUILD_CREATE", []byte(`{"id":"1"}`), false)
	if id, _ := h.due(time.Now()); id != "" {
		t.Error("a live guild is polled")
	}
	reading := time.Now()
	h.Dispatch("TYPING_START", []byte(`{}`), true)
	h.refreshed("1", PresencePresent, reading)
	if id, _ := h.due(time.Now()); id != "1" {
		t.Error("the gap is forgotten")
	}
	h.refreshed("1", PresencePresent, time.Now())
	if id, _ := h.due(time.Now()); id != "" {
		t.Error("the gap is never forgotten")
	}
}
