// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

// A bot may be in 2,500 guilds, but Kubernetes objects use few of them.
func TestOnlyGuildsInUseAreKept(t *testing.T) {
	t.Parallel()
	st, _ := newTestStore(t)
	st.Connecting()
	st.receive(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"},{"id":"2"},{"id":"3"}]}`)
	for _, id := range []string{"1", "2", "3"} {
		st.receive(t, "GUILD_CREATE", `{"id":"`+id+`","channels":[{"id":"20","type":0}]}`)
	}
	st.receive(t, "GUILD_UPDATE", `{"id":"3"}`)
	st.receive(t, "CHANNEL_CREATE", `{"id":"30","guild_id":"3","type":0}`)
	st.receive(t, "GUILD_ROLE_CREATE", `{"guild_id":"3","role":{"id":"5"}}`)
	st.receive(t, "GUILD_DELETE", `{"id":"3"}`)
	if n := st.Health().Guilds; n != 2 {
		t.Errorf("%d guilds are kept, want the wanted guild and the named guild", n)
	}
	if view, _ := st.Want("2"); view.Snapshot().Mode != ModeLive || len(view.Snapshot().Channels()) != 1 {
		t.Errorf("the named guild was not kept up to date: %+v", view.Snapshot())
	}
	st.Forget("1")
	st.Forget("2")
	if n := st.Health().Guilds; n != 0 {
		t.Errorf("%d forgotten guilds are kept", n)
	}
}

func TestADisconnectDropsGuildsThatNothingUses(t *testing.T) {
	t.Parallel()
	st, _ := newTestStore(t)
	st.Connecting()
	st.receive(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"},{"id":"2"},{"id":"3"}]}`)
	st.receive(t, "GUILD_CREATE", `{"id":"1"}`)
	st.receive(t, "GUILD_CREATE", `{"id":"2"}`)
	st.receive(t, "GUILD_DELETE", `{"id":"2","unavailable":true}`)
	st.Disconnected(nil)
	if n := st.Health().Guilds; n != 1 {
		t.Errorf("%d guilds are kept, want the wanted one", n)
	}
}

func TestAGuildAskedForLaterBecomesLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, _ := newTestStore(t)
		st.session(t, guildWith20)
		st.receive(t, "GUILD_CREATE", `{"id":"3"}`)
		view, _ := st.Want("3")
		if id, _ := st.Due(time.Now()); id != "3" {
			t.Fatal("the guild is not due for a reading")
		}
		<-time.After(time.Second)
		asked := time.Now()
		st.receive(t, "CHANNEL_UPDATE", `{"id":"30","guild_id":"3","type":0,"name":"new"}`)
		st.Read(discordclient.Guild{ID: "3", Name: "Kyoto"}, asked)
		st.Listed("3", []*discordclient.Channel{{ID: "30", GuildID: "3", Name: "old"}, {ID: "31", GuildID: "3"}}, asked)
		st.Refreshed("3", PresencePresent, asked)
		s := view.Snapshot()
		if c, _ := s.Channel("30"); s.Mode != ModeLive || s.Guild.Name != "Kyoto" || len(s.Channels()) != 2 || c.Name != "new" {
			t.Errorf("%+v", s)
		}
		if id, wait := st.Due(time.Now()); id != "" || wait > consistencyDelay {
			t.Errorf("the guild is read again in %v, want within consistencyDelay", wait)
		}
		if _, exact := s.BotPermissions(); exact {
			t.Error("permissions count as exact before the bot's roles are known")
		}
		st.Member("3", []string{"7"}, time.Now())
		if _, exact := view.Snapshot().BotPermissions(); !exact {
			t.Error("a response with the bot's roles is ignored")
		}
		st.receive(t, "GUILD_MEMBER_UPDATE", `{"guild_id":"3","user":{"id":"9"},"roles":["8"]}`)
		st.Member("3", []string{"7"}, time.Now())
		if got := view.Snapshot().selfRoles; len(got) != 1 || got[0] != "8" {
			t.Errorf("a response that may be older than an event replaces it: %v", got)
		}
	})
}

func TestAGuildWhoseStateIsPendingIsNotRead(t *testing.T) {
	t.Parallel()
	st, _ := newTestStore(t)
	st.Connecting()
	st.receive(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"},{"id":"3"}]}`)
	st.Want("3")
	if id, wait := st.Due(time.Now()); id != "" || wait > st.Grace {
		t.Errorf("guild %q is due in %v", id, wait)
	}
	st.receive(t, "GUILD_CREATE", `{"id":"1"}`)
	st.receive(t, "GUILD_CREATE", `{"id":"3"}`)
	if id, wait := st.Due(time.Now()); id != "" || wait < time.Minute {
		t.Errorf("guild %q is due in %v", id, wait)
	}
}

// The Gateway may stay connected and acknowledge heartbeats without sending events.
func TestASilentGatewayIsNoticed(t *testing.T) {
	t.Parallel()
	renamed := func(st *Store) {
		_ = st.Write(func() (map[string]*discordclient.Channel, error) {
			return map[string]*discordclient.Channel{"20": {ID: "20", GuildID: "1", Name: "renamed"}}, nil
		}, "20")
	}
	const event = `{"id":"20","guild_id":"1","type":0,"name":"renamed"}`
	cases := map[string]struct {
		act    func(t *testing.T, st *Store)
		silent bool
	}{
		"an edit without its event": {func(_ *testing.T, st *Store) { renamed(st) }, true},
		"an edit with its event":    {func(t *testing.T, st *Store) { renamed(st); st.receive(t, "CHANNEL_UPDATE", event) }, false},
		"an edit whose event came before the answer": {func(t *testing.T, st *Store) {
			_ = st.Write(func() (map[string]*discordclient.Channel, error) {
				<-time.After(time.Millisecond)
				st.receive(t, "CHANNEL_UPDATE", event)
				return map[string]*discordclient.Channel{"20": {ID: "20", GuildID: "1", Name: "renamed again"}}, nil
			}, "20")
		}, false},
		"a create": {func(_ *testing.T, st *Store) { st.Created("1", &discordclient.Channel{ID: "40", GuildID: "1"}) }, true},
		"a deletion": {func(_ *testing.T, st *Store) {
			_ = st.Write(func() (map[string]*discordclient.Channel, error) {
				return map[string]*discordclient.Channel{"20": nil}, nil
			}, "20")
		}, true},
		"a webhook": {func(_ *testing.T, st *Store) { _ = st.writeWebhook("20", nil) }, true},
		"settings": {func(_ *testing.T, st *Store) {
			_, _ = st.EditGuild("1", func() (discordclient.Guild, error) { return discordclient.Guild{ID: "1", Name: "Kyoto"}, nil })
		}, true},
		"a write that failed": {func(_ *testing.T, st *Store) {
			_ = st.writeWebhook("20", &discordclient.Error{Class: discordclient.ClassDenied})
		}, false},
		"nothing":              {func(*testing.T, *Store) {}, false},
		"a session that ended": {func(_ *testing.T, st *Store) { renamed(st); st.Disconnected(nil) }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, view := newTestStore(t)
				st.session(t, guildWith20)
				<-time.After(time.Second)
				c.act(t, st)
				st.Alive()
				<-time.After(st.EventTimeout - time.Millisecond)
				if id, _ := st.Due(time.Now()); id != "" {
					t.Fatal("the guild is due, although the event may still come")
				}
				<-time.After(time.Millisecond)
				st.Alive()
				if id, _ := st.Due(time.Now()); (id == "1") != c.silent {
					t.Errorf("due is %q", id)
				}
				if stale := view.AsOf().Before(time.Now()) && view.Snapshot().Mode == ModeLive; stale != c.silent {
					t.Errorf("the view is said to be up to date as of %s before", time.Since(view.AsOf()))
				}
			})
		})
	}
}

func TestAGuildIsPolledWhileTheGatewayIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, _ := newTestStore(t)
		st.session(t, guildWith20)
		<-time.After(time.Second)
		st.Created("1", &discordclient.Channel{ID: "40", GuildID: "1"})
		<-time.After(st.EventTimeout)
		st.Due(time.Now())
		<-time.After(consistencyDelay)
		st.Refreshed("1", PresencePresent, time.Now())
		if _, wait := st.Due(time.Now()); wait != st.Resync {
			t.Errorf("the next reading is in %v, want %v", wait, st.Resync)
		}
		st.receive(t, "CHANNEL_CREATE", `{"id":"41","guild_id":"1","type":0}`)
		st.Refreshed("1", PresencePresent, time.Now())
		if _, wait := st.Due(time.Now()); wait < st.ResyncLive/2 {
			t.Errorf("the Gateway is back, and the next reading is in %v", wait)
		}
	})
}

func TestASilentGatewayCostsOneReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, view := newTestStore(t)
		st.session(t, guildWith20)
		<-time.After(time.Minute)
		name, readings := "", 0
		edit := func(to string) {
			name = to
			_ = st.Write(func() (map[string]*discordclient.Channel, error) {
				return map[string]*discordclient.Channel{"20": {ID: "20", GuildID: "1", Name: to}}, nil
			}, "20")
		}
		for second := range 180 {
			switch second {
			case 0, 3, 40, 41, 100:
				edit(time.Now().String())
			}
			for {
				id, _ := st.Due(time.Now())
				if id == "" {
					break
				}
				asked := time.Now()
				st.Listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1", Name: name}}, asked)
				st.Refreshed("1", PresencePresent, asked)
				readings++
			}
			<-time.After(time.Second)
		}
		if readings != 1 {
			t.Errorf("the guild was read %d times, want once", readings)
		}
		if s := view.Snapshot(); !s.staleSince.IsZero() {
			t.Errorf("the view is stale since %s", s.staleSince)
		}
	})
}

func TestTombstonesEnd(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*testing.T, *Store){
		"a list": func(_ *testing.T, st *Store) {
			st.Listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1", Type: discordgo.ChannelTypeGuildText}}, time.Now())
		},
		"a session": func(t *testing.T, st *Store) { st.session(t, guildWith20) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, view := newTestStore(t)
				st.session(t, guildWith20)
				st.receive(t, "CHANNEL_DELETE", `{"id":"20","guild_id":"1"}`)
				<-time.After(consistencyDelay)
				if again(t, st); len(view.Snapshot().Channels()) != 0 {
					t.Error("a list that may be old brings the channel back")
				}
				<-time.After(time.Second)
				if again(t, st); len(view.Snapshot().Channels()) != 1 || view.Deleted("20") {
					t.Error("the channel is missing, or still counts as deleted")
				}
			})
		})
	}
}

func TestWebhooksAreReadAgainWithTheGuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, view := newTestStore(t)
		st.session(t, guildWith20)
		<-time.After(time.Second)
		st.WebhooksListed("1", nil, []string{"20"}, time.Now())
		events := st.Events().Subscribe(t.Context())
		if _, known := view.Snapshot().Webhooks("20"); !known {
			t.Fatal("the webhooks are not known")
		}
		<-time.After(time.Second)
		st.Refreshed("1", PresencePresent, time.Now())
		if _, known := view.Snapshot().Webhooks("20"); known {
			t.Error("the webhooks stay known after the guild is read")
		}
		if e := <-events; e != (Event{Kind: EventWebhooks, GuildID: "1", ChannelID: "20"}) {
			t.Errorf("the event is %v", e)
		}
	})
}
