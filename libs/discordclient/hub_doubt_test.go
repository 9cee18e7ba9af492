package discordclient

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// reading has guild 1 read, with an answer as of now.
func (h *hub) reading() { h.refreshed("1", PresencePresent, time.Now()) }

// A view that may have missed something does not count as true as of the last heartbeat, until it was read when all must have settled.
func TestAViewInDoubtSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, view := newTestHub(t)
		h.session(t, guildWith20)
		h.Alive()
		later := func(d time.Duration) {
			<-time.After(d) // of the bubble's time
			h.Alive()
		}
		later(time.Minute)
		gap := time.Now()
		h.Dispatch("X", nil, true)
		later(time.Minute)
		if got := view.AsOf(); !got.Equal(gap) {
			t.Errorf("a minute after a gap the view says it is true as of %v, and the gap was at %v", got, gap)
		}
		if got := h.stats().OldestView; got != time.Minute {
			t.Errorf("the oldest view is %v old, want the minute since the gap", got)
		}
		h.Dispatch("X", nil, true)
		h.reading()
		if id, wait := h.due(time.Now()); id != "" || wait != settleAfter {
			t.Errorf("after a reading that may lag behind the gap, another is due in %v, want %v", wait, settleAfter)
		}
		if got := time.Since(view.AsOf()); got != settleAfter {
			t.Errorf("after that reading the view is %v old, want %v", got, settleAfter)
		}
		later(settleAfter)
		h.reading()
		later(time.Second)
		if got := view.AsOf(); !got.Equal(time.Now()) {
			t.Errorf("the doubt is over, and the view is of %v", got)
		}
		h.Dispatch("X", nil, true)
		gap = time.Now()
		later(time.Minute)
		h.Disconnected(nil)
		if got := view.AsOf(); !got.Equal(gap) {
			t.Errorf("disconnected in doubt, the view says it is true as of %v, and the gap was at %v", got, gap)
		}
		if id, wait := h.due(time.Now()); id != "1" {
			t.Errorf("disconnected in doubt, the view is read in %v, want at once", wait)
		}
	})
}

// What was missed while nobody wanted a guild is looked for as soon as somebody does.
func TestAViewInDoubtThatNobodyWantsIsReadOnceWanted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, view := newTestHub(t)
		h.session(t, guildWith20)
		h.Alive()
		h.forget("1")
		gap := time.Now()
		h.Dispatch("X", nil, true)
		<-time.After(time.Minute)
		h.Alive()
		if id, wait := h.due(time.Now()); id != "" || wait >= 0 {
			t.Errorf("guild %q, which nobody wants, is due in %v", id, wait)
		}
		h.want("1")
		if id, wait := h.due(time.Now()); id != "1" {
			t.Errorf("the guild is due in %v, want now", wait)
		}
		if got := view.AsOf(); !got.Equal(gap) {
			t.Errorf("the view says it is true as of %v, and the gap was at %v", got, gap)
		}
	})
}

// A reading that began before a session does not bring back a guild that the session knows the bot not to be in.
func TestAReadingFromBeforeASessionDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, view := newTestHub(t)
		h.session(t, guildWith20)
		h.Disconnected(nil)
		asked := time.Now()
		<-time.After(time.Second)
		h.Connecting()
		h.tell(t, "READY", `{"user":{"id":"9"},"guilds":[]}`)
		h.refreshed("1", PresencePresent, asked)
		if got := view.Snapshot().Presence; got != PresenceAbsent {
			t.Errorf("the guild is %q", got)
		}
	})
}

// A reading that fails is tried again soon and then ever more rarely, not after a whole period, which may be a day.
func TestAReadingThatFailsIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	for name, gateway := range map[string]bool{"polled": false, "live, after a gap": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls []time.Time
				o := Options{
					Token: NewSecret("token"), DisableGateway: true, Resync: 24 * time.Hour,
					Transport: transportFunc(func(*http.Request) (*http.Response, error) {
						calls = append(calls, time.Now())
						return nil, errors.New("no route to host")
					}),
				}
				api, err := New(o)
				if err != nil {
					t.Fatal(err)
				}
				c := api.(*client)
				c.Guild("1")
				if gateway {
					c.hub.session(t, guildWith20)
					c.hub.Dispatch("X", nil, true)
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if err := c.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if n := len(calls); n < 6 || n > 12 {
					t.Errorf("%d readings in a minute, want about seven", n)
				}
				for i := 2; i < len(calls); i++ {
					if pause := calls[i].Sub(calls[i-1]); pause < firstRetry/2 {
						t.Errorf("reading %d came %v after the one before", i, pause)
					}
				}
			})
		})
	}
}

// Whoever manages a channel is told when its category is deleted by hand, although the channel's own event that follows changes nothing any more, and
// when a call finds it missing.
func TestWhatAViewLosesIsTold(t *testing.T) {
	t.Parallel()
	const guild = `{"id":"1","channels":[{"id":"20","type":4,"name":"a"},{"id":"21","type":0,"name":"b","parent_id":"20"}]}`
	for name, c := range map[string]struct {
		act  func(t *testing.T, h *hub)
		want []string
	}{
		"a category deleted by hand": {func(t *testing.T, h *hub) {
			t.Helper()
			h.tell(t, "CHANNEL_DELETE", `{"id":"20","guild_id":"1"}`)
		}, []string{"21", "20"}},
		"by this client": {func(_ *testing.T, h *hub) { h.deleted("20") }, []string{"21"}},
		"a channel that is not there": {func(_ *testing.T, h *hub) {
			_ = h.write(func() (map[string]*Channel, error) { return nil, &Error{Class: ClassGone, Code: CodeUnknownChannel} }, "21")
		}, []string{"21"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := newTestHub(t)
			h.session(t, guild)
			events := h.subscribe(t.Context())
			c.act(t, h)
			for _, id := range c.want {
				if got := <-events; got != (Event{EventChannel, "1", id}) {
					t.Errorf("told %+v, want channel %s", got, id)
				}
			}
		})
	}
}

// The answer of an own edit may be older than an event of roles or settings that came meanwhile: which it is, is found out.
func TestAnEditsAnswerThatAnEventMayHaveOvertaken(t *testing.T) {
	t.Parallel()
	h, _ := newTestHub(t)
	h.session(t, `{"id":"1","name":"old"}`)
	edit := func(meanwhile func()) {
		t.Helper()
		if _, err := h.guildEdit("1", func() (Guild, error) { meanwhile(); return Guild{ID: "1", Name: "new"}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	edit(func() {})
	if h.doubted() {
		t.Error("an edit that nothing overtook raises doubt")
	}
	edit(func() {
		h.tell(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"r","permissions":"0"}}`)
	})
	if !h.doubted() {
		t.Error("the role is lost for good")
	}
}

// Nothing of a guild or a channel that is not in use any more stays in memory.
func TestWhatIsNotUsedIsForgotten(t *testing.T) {
	t.Parallel()
	h, _ := newTestHub(t)
	if _, err := h.guildEdit("1", func() (Guild, error) { h.forget("1"); return Guild{ID: "1"}, nil }); err != nil {
		t.Fatal(err)
	}
	if n := h.stats().Guilds; n != 0 {
		t.Errorf("%d guilds are kept, though the only one was forgotten while it was edited", n)
	}
	h.want("1")
	h.session(t, `{"id":"1","channels":[{"id":"20","type":0},{"id":"21","type":0},{"id":"22","type":0}]}`)
	for _, id := range []string{"20", "21", "22"} {
		_ = h.hookWrite(id, func() error { return nil })
	}
	h.tell(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
	h.tell(t, "CHANNEL_DELETE", `{"id":"21","guild_id":"1"}`)
	h.listed("1", []*Channel{{ID: "20", GuildID: "1"}}, time.Now())
	_ = h.hookWrite("20", func() error { return &Error{Class: ClassInvalid} })
	if acts := h.guilds["1"].hookAct; len(acts) != 0 {
		t.Errorf("writes to webhooks are waited for of %v", acts)
	}
}
