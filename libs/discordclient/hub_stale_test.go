package discordclient

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Discord's answers and events come on different ways and give no version. These tests have one overtake the other: the
// view may then be wrong for a while, but never for good, which is when nothing is left that would have it read again.

// newTestHub returns a hub without a network, and the view of guild 1 in it.
func newTestHub(t *testing.T) (*hub, *View) {
	t.Helper()
	o, _, err := Options{Token: NewSecret("token")}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(&o)
	view, _ := h.want("1")
	return h, view
}

// tell has the Gateway tell an event.
func (h *hub) tell(t *testing.T, event, data string) {
	t.Helper()
	if handlers[event] == nil {
		t.Fatalf("no event is called %q", event)
	}
	h.Dispatch(event, []byte(data), false)
}

// session begins a session of the Gateway that has guild 1.
func (h *hub) session(t *testing.T, guild string) {
	t.Helper()
	h.Connecting()
	h.tell(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"}]}`)
	h.tell(t, "GUILD_CREATE", guild)
}

// poll has guild 1 read with one channel, 20.
func (h *hub) poll() {
	since := time.Now()
	h.listed("1", []*Channel{{ID: "20", GuildID: "1"}}, since)
	h.refreshed("1", PresencePresent, since)
}

// doubted reports whether guild 1 is going to be read again soon.
func (h *hub) doubted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guilds["1"]
	return !g.dirty.IsZero() && time.Until(g.nextPoll) <= settleAfter
}

const (
	guildWith20 = `{"id":"1","name":"g","channels":[{"id":"20","type":0,"name":"a"}]}`
	guildEmpty  = `{"id":"1","name":"g","channels":[]}`
	edited20    = `{"id":"20","guild_id":"1","type":0,"name":"b"}`
)

func TestPolledWebhooksAreForgottenWithThePoll(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.poll()
	h.hooksListed("1", []Webhook{{ID: "40", ChannelID: "20"}}, []string{"20"}, time.Now())
	if hooks, known := view.Snapshot().Webhooks("20"); !known || len(hooks) != 1 {
		t.Errorf("known %v: %v, want the listed one", known, hooks)
	}
	h.poll()
	if _, known := view.Snapshot().Webhooks("20"); known {
		t.Error("the webhooks of a polled view stay known for ever, though nothing tells when they change")
	}
}

func TestWebhooksOfAChannelThatVanishedAreForgotten(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, guildWith20)
	h.hooksListed("1", nil, []string{"20"}, time.Now())
	h.mu.Lock()
	h.guilds["1"].recent = nil
	h.mu.Unlock()
	h.listed("1", nil, time.Now())
	if _, known := view.Snapshot().Webhooks("20"); known {
		t.Error("the webhooks of a channel that is not there are known")
	}
}

func TestALateWebhookListDoesNotUndoWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	listed := []Webhook{{ID: "40", ChannelID: "20"}}
	for name, meanwhile := range map[string]func(t *testing.T, h *hub){
		"an event": func(t *testing.T, h *hub) {
			t.Helper()
			h.tell(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
		},
		"an own create": func(t *testing.T, h *hub) {
			t.Helper()
			if err := h.hookWrite("20", func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			h.hookWritten("41", &Webhook{ID: "41", ChannelID: "20"})
		},
		"an own write that is under way": func(t *testing.T, h *hub) {
			t.Helper()
			_ = h.hookWrite("20", func() error {
				h.hooksListed("1", nil, []string{"20"}, time.Now().Add(-time.Minute))
				return nil
			})
		},
		"a new session": func(t *testing.T, h *hub) {
			t.Helper()
			h.Disconnected(nil)
			h.session(t, guildWith20)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, view := newTestHub(t)
			h.session(t, guildWith20)
			asked := time.Now()
			h.hooksListed("1", listed, []string{"20"}, asked)
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Fatal("a list that nothing overtook is not believed")
			}
			meanwhile(t, h)
			h.hooksListed("1", listed, []string{"20"}, asked)
			if hooks, known := view.Snapshot().Webhooks("20"); known {
				t.Errorf("after a late list %v counts as known", hooks)
			}
			h.hooksListed("1", listed, []string{"20"}, time.Now())
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Error("a newer list is not believed")
			}
		})
	}
}

func TestAWebhookWriteThatWasContradictedMakesThemUnknown(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]Class{"gone": ClassGone, "unknown result": ClassUnknown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, view := newTestHub(t)
			h.session(t, guildWith20)
			h.hooksListed("1", []Webhook{{ID: "40", ChannelID: "20"}}, []string{"20"}, time.Now())
			_ = h.hookWrite("20", func() error { return &Error{Class: ClassInvalid} })
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Error("a refused write makes the webhooks unknown")
			}
			_ = h.hookWrite("20", func() error { return &Error{Class: class} })
			if _, known := view.Snapshot().Webhooks("20"); known {
				t.Error("the webhooks count as known")
			}
		})
	}
}

// A create that was given up on may be carried out later, and after its result has been looked for.
func TestALateWebhookOfUnknownOutcomeIsNews(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, guildWith20)
	_ = h.hookWrite("20", func() error { return &Error{Class: ClassUnknown} })
	h.hooksListed("1", nil, []string{"20"}, time.Now())
	if view.Snapshot().WebhooksListed("20").IsZero() {
		t.Fatal("a list that was made after the write is not believed")
	}
	h.tell(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
	if hooks, known := view.Snapshot().Webhooks("20"); known {
		t.Errorf("after the event %v counts as known", hooks)
	}
	if listed := view.Snapshot().WebhooksListed("20"); !listed.IsZero() {
		t.Errorf("listed at %s, want never", listed)
	}
}

func TestALateRoleListDoesNotUndoAnEvent(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, `{"id":"1","name":"g","roles":[{"id":"1","name":"e","permissions":"0"}]}`)
	asked := time.Now()
	h.tell(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"new","permissions":"0"}}`)
	h.roles("1", []Role{{ID: "1", Name: "e"}}, asked)
	if _, ok := view.Snapshot().Role("30"); !ok {
		t.Error("the role is gone")
	}
	if !h.doubted() {
		t.Error("which of the two is right will not be found out")
	}
	events := h.subscribe(t.Context())
	h.roles("1", []Role{{ID: "1", Name: "e"}}, time.Now())
	if _, ok := view.Snapshot().Role("30"); ok {
		t.Error("a newer list is not believed")
	}
	if got := <-events; got != (Event{Kind: EventGuild, GuildID: "1"}) {
		t.Errorf("the change is told as %+v", got)
	}
}

// A channel that was edited shortly before the guild came anew, and is not in it any more, does not come back.
func TestNoGhostChannels(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(t *testing.T, h *hub){
		"after an outage": func(t *testing.T, h *hub) {
			t.Helper()
			h.tell(t, "CHANNEL_UPDATE", edited20)
			h.tell(t, "GUILD_DELETE", `{"id":"1","unavailable":true}`)
		},
		"after a removal": func(t *testing.T, h *hub) {
			t.Helper()
			h.tell(t, "CHANNEL_UPDATE", edited20)
			h.tell(t, "GUILD_DELETE", `{"id":"1"}`)
		},
		"after an own write while connecting": func(t *testing.T, h *hub) {
			t.Helper()
			h.Disconnected(nil)
			h.Connecting()
			if err := h.write(func() (map[string]*Channel, error) {
				return map[string]*Channel{"20": {ID: "20", GuildID: "1", Name: "b"}}, nil
			}, "20"); err != nil {
				t.Fatal(err)
			}
			h.tell(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, view := newTestHub(t)
			h.session(t, guildWith20)
			act(t, h)
			h.tell(t, "GUILD_CREATE", guildEmpty)
			if len(view.Snapshot().Channels()) > 0 && !h.doubted() {
				t.Error("the channel is a ghost for good")
			}
			h.listed("1", nil, time.Now().Add(settleAfter)) // the reading that the doubt leads to
			if n := len(view.Snapshot().Channels()); n > 0 {
				t.Errorf("%d channels after the guild was read again", n)
			}
		})
	}
}

// Only the last of several changes counts, or each edit during a reading would cost another one.
func TestAListThatAgreesRaisesNoDoubt(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, guildWith20)
	asked := time.Now()
	h.tell(t, "CHANNEL_UPDATE", `{"id":"20","guild_id":"1","type":0,"name":"c"}`)
	h.tell(t, "CHANNEL_UPDATE", edited20)
	last, _ := view.Snapshot().Channel("20")
	h.listed("1", []*Channel{last}, asked)
	if h.doubted() {
		t.Error("the guild is read again, though all agree")
	}
}

// Settings that could not be taken over from a reading are still in doubt after it.
func TestDoubtStaysWhenTheSettingsWereSkipped(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, `{"id":"1","name":"old"}`)
	h.Dispatch("X", nil, true) // the event of a new name was lost
	since := time.Now()
	h.tell(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"r","permissions":"0"}}`)
	h.read(Guild{ID: "1", Name: "new"}, since)
	h.listed("1", nil, since)
	h.refreshed("1", PresencePresent, since)
	if !h.doubted() {
		t.Error("lost settings stay lost")
	}
	since = time.Now().Add(settleAfter)
	h.read(Guild{ID: "1", Name: "new"}, since)
	h.refreshed("1", PresencePresent, since)
	if got := view.Snapshot().Guild.Name; got != "new" || h.doubted() {
		t.Errorf("after another reading the name is %q, in doubt %v", got, h.doubted())
	}
}

// A list from a replica that lags behind what the Gateway told before does not undo that.
func TestAListThatLagsBehindTheGateway(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, guildEmpty)
	h.tell(t, "CHANNEL_CREATE", edited20)
	asked := time.Now()
	h.listed("1", nil, asked)
	if _, ok := view.Snapshot().Channel("20"); !ok || !h.doubted() {
		t.Errorf("the channel is there: %v, the guild is read again: %v; want both", ok, h.doubted())
	}
	h.listed("1", nil, asked.Add(settleAfter+time.Second))
	if _, ok := view.Snapshot().Channel("20"); ok {
		t.Error("a list from when all has settled is not believed")
	}
}

func TestPermissionsAreExactOnlyWhileSomethingKeepsThemTrue(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	exact := func(when string, want bool) {
		t.Helper()
		if _, got := view.Snapshot().BotPermissions(); got != want {
			t.Errorf("%s: exact %v, want %v", when, got, want)
		}
	}
	memberships := []Membership{{ID: "1", Permissions: 8}}
	asked := time.Now()
	h.poll()
	h.memberships(memberships, asked)
	exact("memberships older than the poll", false)
	h.memberships(memberships, time.Now())
	exact("memberships newer than the poll", true)
	h.poll()
	exact("after another poll", false)
	h.session(t, `{"id":"1","members":[{"user":{"id":"9"},"roles":["30"]}],"channels":[{"id":"20","type":0}]}`)
	exact("live", true)
	c, _ := view.Snapshot().Channel("20")
	if _, got := view.Snapshot().BotPermissionsIn(c); !got {
		t.Error("in a channel of a live view they are not exact")
	}
	h.Disconnected(nil)
	exact("disconnected", false)
	if _, got := view.Snapshot().BotPermissionsIn(c); got {
		t.Error("in a channel, they count as exact though the Gateway is down")
	}
	h.session(t, guildEmpty)
	exact("a session that does not tell the bot's roles", false)
}

// When Discord says that what a write is about is not there, the view is wrong and is read again.
func TestAContradictedWriteHasTheGuildReadAgain(t *testing.T) {
	t.Parallel()
	gone := func(code int) error {
		return &Error{Class: ClassGone, Code: code, Status: http.StatusNotFound, Op: "write"}
	}
	for name, act := range map[string]func(h *hub){
		"an overwrite": func(h *hub) {
			_ = h.write(func() (map[string]*Channel, error) { return nil, gone(CodeUnknownOverwrite) }, "20")
		},
		"one of several channels": func(h *hub) {
			_ = h.write(func() (map[string]*Channel, error) { return nil, gone(CodeUnknownChannel) }, "20", "21")
		},
		"settings": func(h *hub) {
			_, _ = h.guildEdit("1", func() (Guild, error) { return Guild{}, gone(CodeUnknownGuild) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, view := newTestHub(t)
			h.session(t, guildWith20)
			h.tell(t, "CHANNEL_UPDATE", edited20)
			act(h)
			if id, _ := h.due(time.Now()); id != "1" {
				t.Fatal("the guild is not read again")
			}
			if name == "settings" {
				return
			}
			h.listed("1", []*Channel{{ID: "20", GuildID: "1", Name: "c"}}, time.Now())
			if c, _ := view.Snapshot().Channel("20"); c.Name != "c" {
				t.Errorf("what was read is not believed: %+v", c)
			}
		})
	}
}

// A channel that Discord says is gone does not come back with an older change of it.
func TestAMissedChannelStaysOut(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, guildWith20)
	h.tell(t, "CHANNEL_UPDATE", edited20)
	_ = h.write(func() (map[string]*Channel, error) {
		return nil, &Error{Class: ClassGone, Code: CodeUnknownChannel}
	}, "20")
	h.listed("1", nil, time.Now())
	if got := fmt.Sprint(view.Snapshot().Channels()); got != "[]" {
		t.Errorf("the view has %s", got)
	}
}

// The Gateway may lose an event without a gap in its numbers: a live view is read now and then all the same.
func TestALiveViewIsCheckedNowAndThen(t *testing.T) {
	t.Parallel()
	h, view := newTestHub(t)
	h.session(t, guildWith20)
	now := time.Now()
	if id, wait := h.due(now); id != "" || wait < checkLive/2 {
		t.Errorf("a fresh view is due for a check in %v", wait)
	}
	if id, _ := h.due(now.Add(2 * checkLive)); id != "1" {
		t.Error("the view is never checked")
	}
	h.listed("1", nil, now.Add(2*checkLive)) // the deletion's event was lost
	h.refreshed("1", PresencePresent, now.Add(2*checkLive))
	if n := len(view.Snapshot().Channels()); n > 0 || view.Snapshot().Mode != ModeLive {
		t.Errorf("after the check: %d channels, mode %q", n, view.Snapshot().Mode)
	}
	if id, wait := h.due(time.Now()); id != "" || wait < checkLive/2 {
		t.Errorf("after a check, the next one is due in %v", wait)
	}
	h.refreshed("1", PresenceAbsent, time.Now().Add(-time.Hour))
	if got := view.Snapshot().Presence; got != PresencePresent {
		t.Errorf("an old answer makes the guild %q", got)
	}
	h.refreshed("1", PresenceAbsent, time.Now())
	if got := view.Snapshot(); got.Presence != PresenceAbsent || got.Mode != ModeLive {
		t.Errorf("the check found the bot removed, and the guild is %q, %q", got.Presence, got.Mode)
	}
	if id, wait := h.due(time.Now()); id != "" || wait < checkLive/2 {
		t.Errorf("a guild that the bot is not in is due for a check in %v", wait)
	}
	if id, _ := h.due(time.Now().Add(2 * checkLive)); id != "1" {
		t.Error("should the event of an invitation be lost, nothing finds it out")
	}
	h.tell(t, "GUILD_CREATE", guildWith20)
	h.Disconnected(nil)
	if _, wait := h.due(time.Now()); wait > h.resync {
		t.Errorf("without the Gateway it is polled in %v, want %v", wait, h.resync)
	}
}
