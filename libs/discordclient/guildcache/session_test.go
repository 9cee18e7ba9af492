package guildcache

import (
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// A list that was asked for while a session began, and arrives after its GUILD_CREATE, may be older than that: what
// happened in between would be lost for good, since no event will tell it again.
func TestListAskedForWhileASessionBegan(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.Connecting()
	asked := time.Now()
	c.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
	c.Dispatch("GUILD_CREATE", []byte(`{"id":"1","name":"new","channels":[{"id":"5","type":0,"name":"new"}]}`), false)
	c.listed("1", []*discordclient.Channel{{ID: "5", GuildID: "1", Name: "old"}}, asked)
	c.read(discordclient.Guild{ID: "1", Name: "old"}, asked)
	if s := view.Snapshot(); s.Guild.Name != "new" || s.Channels()[0].Name != "new" {
		t.Errorf("the view went back to %q and %q", s.Guild.Name, s.Channels()[0].Name)
	}
	c.listed("1", []*discordclient.Channel{{ID: "5", GuildID: "1", Name: "newer"}}, time.Now())
	if got := view.Snapshot().Channels()[0].Name; got != "newer" {
		t.Errorf("a newer list is not believed: %q", got)
	}
}

// Doubt that comes up while a guild is being read is not settled by that reading.
func TestDoubtDuringAReadingStays(t *testing.T) {
	t.Parallel()
	c, _ := newTestCache(t)
	c.Connecting()
	c.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
	c.Dispatch("GUILD_CREATE", []byte(`{"id":"1"}`), false)
	if id, _ := c.due(time.Now()); id != "" {
		t.Error("a live guild is polled")
	}
	reading := time.Now()
	c.Dispatch("TYPING_START", []byte(`{}`), true)
	c.refreshed("1", PresencePresent, reading)
	if id, _ := c.due(time.Now()); id != "1" {
		t.Error("the gap is forgotten")
	}
	c.refreshed("1", PresencePresent, time.Now())
	if id, _ := c.due(time.Now()); id != "" {
		t.Error("the gap is never forgotten")
	}
}
