// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/prometheus/client_golang/prometheus"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

func newTestStore(t testing.TB) (*Store, *View) {
	t.Helper()
	vec := func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "test"}, []string{"of"})
	}
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "test"}) }
	st := New(Config{
		Log: slog.New(slog.DiscardHandler), Token: discordclient.NewSecret("token"), Wake: func() {},
		Resync: 5 * time.Minute, Grace: 5 * time.Second, ResyncLive: time.Hour, EventTimeout: 15 * time.Second,
		Keep:     func(id string) bool { return id == "2" },
		Counters: Counters{Events: vec(), Resyncs: vec(), Gaps: counter(), Connects: counter(), Disconnects: counter()},
	})
	view, _ := st.Want("1")
	return st, view
}

func (st *Store) writeWebhook(channelID string, err error) error {
	_, err = st.WriteWebhook(channelID, "", func() (discordclient.Webhook, error) { return discordclient.Webhook{}, err })
	return err
}

func (st *Store) receive(t *testing.T, event, data string) {
	t.Helper()
	if handlers[event] == nil {
		t.Fatalf("no event is called %q", event)
	}
	st.Dispatch(event, []byte(data), false)
}

func (st *Store) session(t *testing.T, guild string) {
	t.Helper()
	st.Connecting()
	st.receive(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"}]}`)
	st.receive(t, "GUILD_CREATE", guild)
}

func (st *Store) poll() {
	since := time.Now()
	st.Listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1"}}, since)
	st.Refreshed("1", PresencePresent, since)
}

func (st *Store) stale() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	g := st.guilds["1"]
	return !g.stale.IsZero() && time.Until(g.nextPoll) <= consistencyDelay
}

const (
	guildWith20 = `{"id":"1","name":"g","channels":[{"id":"20","type":0,"name":"a"}]}`
	guildEmpty  = `{"id":"1","name":"g","channels":[]}`
	edited20    = `{"id":"20","guild_id":"1","type":0,"name":"b"}`
)

// Discord sends the event of an own write only to the session at the time of the write. A new
// session reports all webhooks as changed.
func TestWebhooksAcrossSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, view := newTestStore(t)
		st.session(t, guildWith20)
		events := st.Events().Subscribe(t.Context())
		if err := st.writeWebhook("20", nil); err != nil {
			t.Fatal(err)
		}
		list := func() {
			<-time.After(time.Second)
			hook := discordclient.Webhook{ID: "40", ChannelID: "20"}
			st.WebhooksListed("1", []discordclient.Webhook{hook}, []string{"20"}, time.Now())
		}
		list()
		for _, what := range []string{"a new session", "an event of it"} {
			if what == "a new session" {
				st.session(t, guildWith20)
			} else {
				st.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
			}
			if _, known := view.Snapshot().Webhooks("20"); known {
				t.Errorf("after %s, the webhooks count as known", what)
			}
			if got := <-events; got != (Event{Kind: EventWebhooks, GuildID: "1", ChannelID: "20"}) {
				t.Errorf("after %s: %+v, want the webhooks of channel 20", what, got)
			}
			list()
		}
	})
}

func TestPolledWebhooksAreForgottenWithThePoll(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.poll()
	st.WebhooksListed("1", []discordclient.Webhook{{ID: "40", ChannelID: "20"}}, []string{"20"}, time.Now())
	if hooks, known := view.Snapshot().Webhooks("20"); !known || len(hooks) != 1 {
		t.Errorf("known %v: %v, want the listed webhook", known, hooks)
	}
	st.poll()
	if _, known := view.Snapshot().Webhooks("20"); known {
		t.Error("the webhooks of a polled view stay known after another poll")
	}
}

func TestWebhooksOfAChannelThatVanishedAreForgotten(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, guildWith20)
	st.WebhooksListed("1", nil, []string{"20"}, time.Now())
	st.mu.Lock()
	st.guilds["1"].recent = nil
	st.mu.Unlock()
	st.Listed("1", nil, time.Now())
	if _, known := view.Snapshot().Webhooks("20"); known {
		t.Error("the webhooks of a missing channel are known")
	}
}

func TestALateWebhookListDoesNotUndoNewerChanges(t *testing.T) {
	t.Parallel()
	listed := []discordclient.Webhook{{ID: "40", ChannelID: "20"}}
	for name, meanwhile := range map[string]func(t *testing.T, st *Store){
		"an event": func(t *testing.T, st *Store) {
			t.Helper()
			st.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
		},
		"an own create": func(t *testing.T, st *Store) {
			t.Helper()
			if _, err := st.WriteWebhook("20", "", func() (discordclient.Webhook, error) {
				return discordclient.Webhook{ID: "41", ChannelID: "20"}, nil
			}); err != nil {
				t.Fatal(err)
			}
		},
		"an own write that is under way": func(t *testing.T, st *Store) {
			t.Helper()
			_, _ = st.WriteWebhook("20", "", func() (discordclient.Webhook, error) {
				st.WebhooksListed("1", nil, []string{"20"}, time.Now().Add(-time.Minute))
				return discordclient.Webhook{}, nil
			})
		},
		"a new session": func(t *testing.T, st *Store) {
			t.Helper()
			st.Disconnected(nil)
			st.session(t, guildWith20)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, view := newTestStore(t)
			st.session(t, guildWith20)
			asked := time.Now()
			st.WebhooksListed("1", listed, []string{"20"}, asked)
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Fatal("a list without concurrent changes is ignored")
			}
			meanwhile(t, st)
			st.WebhooksListed("1", listed, []string{"20"}, asked)
			if hooks, known := view.Snapshot().Webhooks("20"); known {
				t.Errorf("after a late list %v counts as known", hooks)
			}
			st.WebhooksListed("1", listed, []string{"20"}, time.Now())
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Error("a newer list is ignored")
			}
		})
	}
}

func TestAWebhookThatIsNotFoundMakesTheListUnknown(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]discordclient.Class{"gone": discordclient.ClassGone, "unknown result": discordclient.ClassUnknown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, view := newTestStore(t)
			st.session(t, guildWith20)
			st.WebhooksListed("1", []discordclient.Webhook{{ID: "40", ChannelID: "20"}}, []string{"20"}, time.Now())
			_ = st.writeWebhook("20", &discordclient.Error{Class: discordclient.ClassInvalid})
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Error("a refused write makes the webhooks unknown")
			}
			_ = st.writeWebhook("20", &discordclient.Error{Class: class})
			if _, known := view.Snapshot().Webhooks("20"); known {
				t.Error("the webhooks count as known")
			}
		})
	}
}

func TestALateWebhookOfUnknownOutcomeIsReported(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, guildWith20)
	_ = st.writeWebhook("20", &discordclient.Error{Class: discordclient.ClassUnknown})
	st.WebhooksListed("1", nil, []string{"20"}, time.Now())
	if view.Snapshot().WebhooksListed("20").IsZero() {
		t.Fatal("a list from after the write is ignored")
	}
	st.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
	if hooks, known := view.Snapshot().Webhooks("20"); known {
		t.Errorf("after the event %v counts as known", hooks)
	}
	if listed := view.Snapshot().WebhooksListed("20"); !listed.IsZero() {
		t.Errorf("listed at %s, want never", listed)
	}
}

func TestALateListOfRolesDoesNotUndoAnEvent(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, `{"id":"1","name":"g","roles":[{"id":"1","name":"e","permissions":"0"}]}`)
	asked := time.Now()
	st.receive(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"new","permissions":"0"}}`)
	st.Roles("1", []discordclient.Role{{ID: "1", Name: "e"}}, asked)
	if _, ok := view.Snapshot().Role("30"); !ok {
		t.Error("the role is gone")
	}
	if !st.stale() {
		t.Error("the guild is not read again after contradicting answers")
	}
	events := st.Events().Subscribe(t.Context())
	st.Roles("1", []discordclient.Role{{ID: "1", Name: "e"}}, time.Now())
	if _, ok := view.Snapshot().Role("30"); ok {
		t.Error("a newer list is ignored")
	}
	if got := <-events; got != (Event{Kind: EventGuild, GuildID: "1"}) {
		t.Errorf("the change is reported as %+v", got)
	}
}

// If a guild comes back without a channel, a recent edit does not bring the channel back.
func TestNoGhostChannels(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(t *testing.T, st *Store){
		"after an outage": func(t *testing.T, st *Store) {
			t.Helper()
			st.receive(t, "CHANNEL_UPDATE", edited20)
			st.receive(t, "GUILD_DELETE", `{"id":"1","unavailable":true}`)
		},
		"after a removal": func(t *testing.T, st *Store) {
			t.Helper()
			st.receive(t, "CHANNEL_UPDATE", edited20)
			st.receive(t, "GUILD_DELETE", `{"id":"1"}`)
		},
		"after an own write while connecting": func(t *testing.T, st *Store) {
			t.Helper()
			st.Disconnected(nil)
			st.Connecting()
			if err := st.Write(func() (map[string]*discordclient.Channel, error) {
				return map[string]*discordclient.Channel{"20": {ID: "20", GuildID: "1", Name: "b"}}, nil
			}, "20"); err != nil {
				t.Fatal(err)
			}
			st.receive(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, view := newTestStore(t)
			st.session(t, guildWith20)
			act(t, st)
			st.receive(t, "GUILD_CREATE", guildEmpty)
			if len(view.Snapshot().Channels()) > 0 && !st.stale() {
				t.Error("the view keeps a deleted channel, and the guild is not read again")
			}
			st.Listed("1", nil, time.Now().Add(consistencyDelay)) // the next poll
			if n := len(view.Snapshot().Channels()); n > 0 {
				t.Errorf("%d channels after the guild was read again", n)
			}
		})
	}
}

// If a list that agrees with the view made it stale, each edit during a reading would cost another
// reading.
func TestAListThatAgreesDoesNotMakeTheViewStale(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, guildWith20)
	asked := time.Now()
	st.receive(t, "CHANNEL_UPDATE", `{"id":"20","guild_id":"1","type":0,"name":"c"}`)
	st.receive(t, "CHANNEL_UPDATE", edited20)
	last, _ := view.Snapshot().Channel("20")
	st.Listed("1", []*discordclient.Channel{last}, asked)
	if st.stale() {
		t.Error("the guild is read again, though the list agrees with the view")
	}
}

// If a change during a reading caused another reading, each new channel would cause one. The
// Gateway sends the change anyway.
func TestAChangeDuringAReadingDoesNotCauseAnother(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, guildWith20)
	asked := time.Now()
	st.receive(t, "CHANNEL_CREATE", `{"id":"30","guild_id":"1","type":0,"name":"new"}`)
	st.receive(t, "CHANNEL_UPDATE", edited20)
	st.Listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1", Name: "a"}}, asked)
	if st.stale() {
		t.Error("the guild is read again")
	}
	if got, ok := view.Snapshot().Channel("20"); !ok || got.Name != "b" {
		t.Errorf("the channel is %+v, want that of the event", got)
	}
	if _, ok := view.Snapshot().Channel("30"); !ok {
		t.Error("the new channel is gone")
	}
}

func TestAViewStaysStaleWhenTheSettingsWereSkipped(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, `{"id":"1","name":"old"}`)
	st.Dispatch("X", nil, true) // the event of a new name was lost
	since := time.Now()
	st.receive(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"r","permissions":"0"}}`)
	st.Read(discordclient.Guild{ID: "1", Name: "new"}, since)
	st.Listed("1", nil, since)
	st.Refreshed("1", PresencePresent, since)
	if !st.stale() {
		t.Error("lost settings stay lost")
	}
	since = time.Now().Add(consistencyDelay)
	st.Read(discordclient.Guild{ID: "1", Name: "new"}, since)
	st.Refreshed("1", PresencePresent, since)
	if got := view.Snapshot().Guild.Name; got != "new" || st.stale() {
		t.Errorf("after another poll the name is %q, stale %v", got, st.stale())
	}
}

func TestAListThatLagsBehindTheGateway(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, guildEmpty)
	st.receive(t, "CHANNEL_CREATE", edited20)
	asked := time.Now()
	st.Listed("1", nil, asked)
	if _, ok := view.Snapshot().Channel("20"); !ok || !st.stale() {
		t.Errorf("the channel is there: %v, the guild is read again: %v; want both", ok, st.stale())
	}
	st.Listed("1", nil, asked.Add(consistencyDelay+time.Second))
	if _, ok := view.Snapshot().Channel("20"); ok {
		t.Error("a list from after consistencyDelay is ignored")
	}
}

func TestPermissionsAreExactOnlyWhileTheyAreFollowed(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	exact := func(when string, want bool) {
		t.Helper()
		if _, got := view.Snapshot().BotPermissions(); got != want {
			t.Errorf("%s: exact %v, want %v", when, got, want)
		}
	}
	roles := []string{"30"}
	asked := time.Now()
	st.poll()
	st.Member("1", roles, asked)
	exact("roles older than the poll", false)
	st.Member("1", roles, time.Now())
	exact("roles newer than the poll", true)
	st.poll()
	exact("after another poll", false)
	st.session(t, `{"id":"1","members":[{"user":{"id":"9"},"roles":["30"]}],"channels":[{"id":"20","type":0}]}`)
	exact("live", true)
	channel, _ := view.Snapshot().Channel("20")
	if _, got := view.Snapshot().BotPermissionsIn(channel); !got {
		t.Error("in a channel of a live view, the permissions are not exact")
	}
	st.Disconnected(nil)
	exact("disconnected", false)
	if _, got := view.Snapshot().BotPermissionsIn(channel); got {
		t.Error("in a channel, the permissions count as exact though the Gateway is down")
	}
	st.session(t, guildEmpty)
	exact("a session without the bot's roles", false)
}

// Until the bot's roles are read, the view assumes only the role that Discord gives to each bot.
func TestUnknownRolesOfTheBotIncludeItsOwn(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.Self("9")
	st.Read(discordclient.Guild{ID: "1", Roles: []discordclient.Role{
		{ID: "1"}, {ID: "30", Managed: true, Permissions: permissions.ViewChannel, Tags: discordclient.RoleTags{BotID: "9"}},
	}}, time.Now())
	private := &discordclient.Channel{Overwrites: []discordclient.Overwrite{
		{ID: "1", Deny: permissions.ViewChannel}, {ID: "30", Allow: permissions.ViewChannel},
	}}
	s := view.Snapshot()
	if everywhere, exact := s.BotPermissions(); exact || !everywhere.Has(permissions.ViewChannel) {
		t.Errorf("the bot's permissions are %v, exact %v", everywhere.Names(), exact)
	}
	if here, exact := s.BotPermissionsIn(private); exact || !here.Has(permissions.ViewChannel) {
		t.Errorf("in a channel that admits only the bot's role, its permissions are %v, exact %v", here.Names(), exact)
	}
}

func TestAWriteThatFindsNothingHasTheGuildReadAgain(t *testing.T) {
	t.Parallel()
	gone := func(code int) error {
		return &discordclient.Error{Class: discordclient.ClassGone, Code: code, Status: http.StatusNotFound, Op: "write"}
	}
	for name, act := range map[string]func(st *Store){
		"an overwrite": func(st *Store) {
			_ = st.Write(func() (map[string]*discordclient.Channel, error) {
				return nil, gone(discordgo.ErrCodeUnknownOverwrite)
			}, "20")
		},
		"one of several channels": func(st *Store) {
			_ = st.Write(func() (map[string]*discordclient.Channel, error) { return nil, gone(discordgo.ErrCodeUnknownChannel) }, "20", "21")
		},
		"settings": func(st *Store) {
			_, _ = st.EditGuild("1", func() (discordclient.Guild, error) {
				return discordclient.Guild{}, gone(discordgo.ErrCodeUnknownGuild)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, view := newTestStore(t)
			st.session(t, guildWith20)
			st.receive(t, "CHANNEL_UPDATE", edited20)
			act(st)
			if id, _ := st.Due(time.Now()); id != "1" {
				t.Fatal("the guild is not read again")
			}
			if name == "settings" {
				return
			}
			st.Listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1", Name: "c"}}, time.Now())
			if channel, _ := view.Snapshot().Channel("20"); channel.Name != "c" {
				t.Errorf("the reading is ignored: %+v", channel)
			}
		})
	}
}

func TestAChannelThatIsNotFoundStaysOut(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, guildWith20)
	st.receive(t, "CHANNEL_UPDATE", edited20)
	_ = st.Write(func() (map[string]*discordclient.Channel, error) {
		return nil, &discordclient.Error{Class: discordclient.ClassGone, Code: discordgo.ErrCodeUnknownChannel}
	}, "20")
	st.Listed("1", nil, time.Now())
	if got := fmt.Sprint(view.Snapshot().Channels()); got != "[]" {
		t.Errorf("the view has %s", got)
	}
}

// The Gateway may lose an event without a gap in the sequence numbers.
func TestALiveViewIsCheckedNowAndThen(t *testing.T) {
	t.Parallel()
	st, view := newTestStore(t)
	st.session(t, guildWith20)
	now := time.Now()
	if id, wait := st.Due(now); id != "" || wait < st.ResyncLive/2 {
		t.Errorf("a fresh view is due for a check in %v", wait)
	}
	if id, _ := st.Due(now.Add(2 * st.ResyncLive)); id != "1" {
		t.Error("the view is never checked")
	}
	st.Listed("1", nil, now.Add(2*st.ResyncLive)) // the deletion's event was lost
	st.Refreshed("1", PresencePresent, now.Add(2*st.ResyncLive))
	if n := len(view.Snapshot().Channels()); n > 0 || view.Snapshot().Mode != ModeLive {
		t.Errorf("after the check: %d channels, mode %q", n, view.Snapshot().Mode)
	}
	if id, wait := st.Due(time.Now()); id != "" || wait < st.ResyncLive/2 {
		t.Errorf("after a check, the next one is due in %v", wait)
	}
	st.Refreshed("1", PresenceAbsent, time.Now().Add(-time.Hour))
	if got := view.Snapshot().Presence; got != PresencePresent {
		t.Errorf("an old answer makes the guild %q", got)
	}
	since := time.Now()
	st.Refreshed("1", PresenceAbsent, since)
	if got := view.Snapshot().Presence; got != PresencePresent {
		t.Errorf("a single answer makes the guild %q", got)
	}
	if id, wait := st.Due(time.Now()); id != "" || wait > absentDelay {
		t.Errorf("the second check is due in %v", wait)
	}
	st.Refreshed("1", PresencePresent, since.Add(absentDelay))
	st.Refreshed("1", PresenceAbsent, since.Add(2*absentDelay))
	if got := view.Snapshot().Presence; got != PresencePresent {
		t.Errorf("two answers with an opposite answer between them make the guild %q", got)
	}
	st.Refreshed("1", PresenceAbsent, since.Add(3*absentDelay))
	if got := view.Snapshot(); got.Presence != PresenceAbsent || got.Mode != ModeLive {
		t.Errorf("the check found the bot removed, and the guild is %q, %q", got.Presence, got.Mode)
	}
	if id, wait := st.Due(time.Now()); id != "" || wait > st.Resync {
		t.Errorf("a guild that only polls found absent is due for a check in %v", wait)
	}
	if id, _ := st.Due(time.Now().Add(2 * st.ResyncLive)); id != "1" {
		t.Error("an absent guild is never checked, so a lost event of an invitation has no remedy")
	}
	st.receive(t, "GUILD_CREATE", guildWith20)
	st.Disconnected(nil)
	if _, wait := st.Due(time.Now()); wait > st.Resync {
		t.Errorf("without the Gateway, the guild is polled in %v, want %v", wait, st.Resync)
	}
}
