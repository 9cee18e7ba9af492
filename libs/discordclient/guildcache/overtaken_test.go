package guildcache

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// Discord's answers and events come on different ways and give no version. These tests have one overtake the other: the
// view may then be wrong for a while, but never for good, which is when nothing is left that would have it read again.

// newTestCache returns a cache without a network, and the view of guild 1 in it.
func newTestCache(t *testing.T) (*cache, *View) {
	t.Helper()
	o := Options{Options: discordclient.Options{Token: discordclient.NewSecret("token")}}
	client, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	view, _ := client.cache.want("1")
	return client.cache, view
}

// receive has the Gateway deliver an event.
func (c *cache) receive(t *testing.T, event, data string) {
	t.Helper()
	if handlers[event] == nil {
		t.Fatalf("no event is called %q", event)
	}
	c.Dispatch(event, []byte(data), false)
}

// session begins a session of the Gateway that has guild 1.
func (c *cache) session(t *testing.T, guild string) {
	t.Helper()
	c.Connecting()
	c.receive(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"}]}`)
	c.receive(t, "GUILD_CREATE", guild)
}

// poll has guild 1 read with one channel, 20.
func (c *cache) poll() {
	since := time.Now()
	c.listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1"}}, since)
	c.refreshed("1", PresencePresent, since)
}

// stale reports whether guild 1 is going to be read again soon.
func (c *cache) stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guilds["1"]
	return !g.stale.IsZero() && time.Until(g.nextPoll) <= consistencyDelay
}

const (
	guildWith20 = `{"id":"1","name":"g","channels":[{"id":"20","type":0,"name":"a"}]}`
	guildEmpty  = `{"id":"1","name":"g","channels":[]}`
	edited20    = `{"id":"20","guild_id":"1","type":0,"name":"b"}`
)

// An own write's event goes to the session in which it was made. After a reconnect it never comes, and the webhooks may
// have changed in between: they are reported as changed, and so is the next event about them.
func TestWebhooksAcrossSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, view := newTestCache(t)
		c.session(t, guildWith20)
		events := c.subscribe(t.Context())
		if err := c.hookWrite("20", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		list := func() {
			<-time.After(time.Second)
			hook := discordclient.Webhook{ID: "40", ChannelID: "20"}
			c.hooksListed("1", []discordclient.Webhook{hook}, []string{"20"}, time.Now())
		}
		list()
		for _, what := range []string{"a new session", "an event of it"} {
			if what == "a new session" {
				c.session(t, guildWith20)
			} else {
				c.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
			}
			if _, known := view.Snapshot().Webhooks("20"); known {
				t.Errorf("after %s, the webhooks count as known", what)
			}
			if got := <-events; got != (Event{EventWebhooks, "1", "20"}) {
				t.Errorf("after %s: %+v, want the webhooks of channel 20", what, got)
			}
			list()
		}
	})
}

func TestPolledWebhooksAreForgottenWithThePoll(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.poll()
	c.hooksListed("1", []discordclient.Webhook{{ID: "40", ChannelID: "20"}}, []string{"20"}, time.Now())
	if hooks, known := view.Snapshot().Webhooks("20"); !known || len(hooks) != 1 {
		t.Errorf("known %v: %v, want the listed one", known, hooks)
	}
	c.poll()
	if _, known := view.Snapshot().Webhooks("20"); known {
		t.Error("the webhooks of a polled view stay known for ever, though nothing tells when they change")
	}
}

func TestWebhooksOfAChannelThatVanishedAreForgotten(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, guildWith20)
	c.hooksListed("1", nil, []string{"20"}, time.Now())
	c.mu.Lock()
	c.guilds["1"].recent = nil
	c.mu.Unlock()
	c.listed("1", nil, time.Now())
	if _, known := view.Snapshot().Webhooks("20"); known {
		t.Error("the webhooks of a channel that is not there are known")
	}
}

func TestALateWebhookListDoesNotUndoWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	listed := []discordclient.Webhook{{ID: "40", ChannelID: "20"}}
	for name, meanwhile := range map[string]func(t *testing.T, c *cache){
		"an event": func(t *testing.T, c *cache) {
			t.Helper()
			c.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
		},
		"an own create": func(t *testing.T, c *cache) {
			t.Helper()
			if err := c.hookWrite("20", func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			c.hookWritten("41", &discordclient.Webhook{ID: "41", ChannelID: "20"})
		},
		"an own write that is under way": func(t *testing.T, c *cache) {
			t.Helper()
			_ = c.hookWrite("20", func() error {
				c.hooksListed("1", nil, []string{"20"}, time.Now().Add(-time.Minute))
				return nil
			})
		},
		"a new session": func(t *testing.T, c *cache) {
			t.Helper()
			c.Disconnected(nil)
			c.session(t, guildWith20)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, view := newTestCache(t)
			c.session(t, guildWith20)
			asked := time.Now()
			c.hooksListed("1", listed, []string{"20"}, asked)
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Fatal("a list that nothing overtook is not believed")
			}
			meanwhile(t, c)
			c.hooksListed("1", listed, []string{"20"}, asked)
			if hooks, known := view.Snapshot().Webhooks("20"); known {
				t.Errorf("after a late list %v counts as known", hooks)
			}
			c.hooksListed("1", listed, []string{"20"}, time.Now())
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Error("a newer list is not believed")
			}
		})
	}
}

func TestAWebhookWriteThatWasContradictedMakesThemUnknown(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]discordclient.Class{"gone": discordclient.ClassGone, "unknown result": discordclient.ClassUnknown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, view := newTestCache(t)
			c.session(t, guildWith20)
			c.hooksListed("1", []discordclient.Webhook{{ID: "40", ChannelID: "20"}}, []string{"20"}, time.Now())
			_ = c.hookWrite("20", func() error { return &discordclient.Error{Class: discordclient.ClassInvalid} })
			if _, known := view.Snapshot().Webhooks("20"); !known {
				t.Error("a refused write makes the webhooks unknown")
			}
			_ = c.hookWrite("20", func() error { return &discordclient.Error{Class: class} })
			if _, known := view.Snapshot().Webhooks("20"); known {
				t.Error("the webhooks count as known")
			}
		})
	}
}

// A create that was given up on may be carried out later, and after its result has been looked for.
func TestALateWebhookOfUnknownOutcomeIsNews(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, guildWith20)
	_ = c.hookWrite("20", func() error { return &discordclient.Error{Class: discordclient.ClassUnknown} })
	c.hooksListed("1", nil, []string{"20"}, time.Now())
	if view.Snapshot().WebhooksListed("20").IsZero() {
		t.Fatal("a list that was made after the write is not believed")
	}
	c.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
	if hooks, known := view.Snapshot().Webhooks("20"); known {
		t.Errorf("after the event %v counts as known", hooks)
	}
	if listed := view.Snapshot().WebhooksListed("20"); !listed.IsZero() {
		t.Errorf("listed at %s, want never", listed)
	}
}

func TestALateRoleListDoesNotUndoAnEvent(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, `{"id":"1","name":"g","roles":[{"id":"1","name":"e","permissions":"0"}]}`)
	asked := time.Now()
	c.receive(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"new","permissions":"0"}}`)
	c.roles("1", []discordclient.Role{{ID: "1", Name: "e"}}, asked)
	if _, ok := view.Snapshot().Role("30"); !ok {
		t.Error("the role is gone")
	}
	if !c.stale() {
		t.Error("which of the two is right will not be found out")
	}
	events := c.subscribe(t.Context())
	c.roles("1", []discordclient.Role{{ID: "1", Name: "e"}}, time.Now())
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
	for name, act := range map[string]func(t *testing.T, c *cache){
		"after an outage": func(t *testing.T, c *cache) {
			t.Helper()
			c.receive(t, "CHANNEL_UPDATE", edited20)
			c.receive(t, "GUILD_DELETE", `{"id":"1","unavailable":true}`)
		},
		"after a removal": func(t *testing.T, c *cache) {
			t.Helper()
			c.receive(t, "CHANNEL_UPDATE", edited20)
			c.receive(t, "GUILD_DELETE", `{"id":"1"}`)
		},
		"after an own write while connecting": func(t *testing.T, c *cache) {
			t.Helper()
			c.Disconnected(nil)
			c.Connecting()
			if err := c.write(func() (map[string]*discordclient.Channel, error) {
				return map[string]*discordclient.Channel{"20": {ID: "20", GuildID: "1", Name: "b"}}, nil
			}, "20"); err != nil {
				t.Fatal(err)
			}
			c.receive(t, "READY", `{"user":{"id":"9"},"guilds":[{"id":"1"}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, view := newTestCache(t)
			c.session(t, guildWith20)
			act(t, c)
			c.receive(t, "GUILD_CREATE", guildEmpty)
			if len(view.Snapshot().Channels()) > 0 && !c.stale() {
				t.Error("the channel is a ghost for good")
			}
			c.listed("1", nil, time.Now().Add(consistencyDelay)) // the reading that the doubt leads to
			if n := len(view.Snapshot().Channels()); n > 0 {
				t.Errorf("%d channels after the guild was read again", n)
			}
		})
	}
}

// Only the last of several changes counts, or each edit during a reading would cost another one.
func TestAListThatAgreesRaisesNoDoubt(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, guildWith20)
	asked := time.Now()
	c.receive(t, "CHANNEL_UPDATE", `{"id":"20","guild_id":"1","type":0,"name":"c"}`)
	c.receive(t, "CHANNEL_UPDATE", edited20)
	last, _ := view.Snapshot().Channel("20")
	c.listed("1", []*discordclient.Channel{last}, asked)
	if c.stale() {
		t.Error("the guild is read again, though all agree")
	}
}

// Settings that could not be taken over from a reading are still in doubt after it.
func TestDoubtStaysWhenTheSettingsWereSkipped(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, `{"id":"1","name":"old"}`)
	c.Dispatch("X", nil, true) // the event of a new name was lost
	since := time.Now()
	c.receive(t, "GUILD_ROLE_CREATE", `{"guild_id":"1","role":{"id":"30","name":"r","permissions":"0"}}`)
	c.read(discordclient.Guild{ID: "1", Name: "new"}, since)
	c.listed("1", nil, since)
	c.refreshed("1", PresencePresent, since)
	if !c.stale() {
		t.Error("lost settings stay lost")
	}
	since = time.Now().Add(consistencyDelay)
	c.read(discordclient.Guild{ID: "1", Name: "new"}, since)
	c.refreshed("1", PresencePresent, since)
	if got := view.Snapshot().Guild.Name; got != "new" || c.stale() {
		t.Errorf("after another reading the name is %q, in doubt %v", got, c.stale())
	}
}

// A list from a replica that lags behind what the Gateway told before does not undo that.
func TestAListThatLagsBehindTheGateway(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, guildEmpty)
	c.receive(t, "CHANNEL_CREATE", edited20)
	asked := time.Now()
	c.listed("1", nil, asked)
	if _, ok := view.Snapshot().Channel("20"); !ok || !c.stale() {
		t.Errorf("the channel is there: %v, the guild is read again: %v; want both", ok, c.stale())
	}
	c.listed("1", nil, asked.Add(consistencyDelay+time.Second))
	if _, ok := view.Snapshot().Channel("20"); ok {
		t.Error("a list from when all has settled is not believed")
	}
}

func TestPermissionsAreExactOnlyWhileSomethingKeepsThemTrue(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	exact := func(when string, want bool) {
		t.Helper()
		if _, got := view.Snapshot().BotPermissions(); got != want {
			t.Errorf("%s: exact %v, want %v", when, got, want)
		}
	}
	memberships := []discordclient.Membership{{ID: "1", Permissions: 8}}
	asked := time.Now()
	c.poll()
	c.memberships(memberships, asked)
	exact("memberships older than the poll", false)
	c.memberships(memberships, time.Now())
	exact("memberships newer than the poll", true)
	c.poll()
	exact("after another poll", false)
	c.session(t, `{"id":"1","members":[{"user":{"id":"9"},"roles":["30"]}],"channels":[{"id":"20","type":0}]}`)
	exact("live", true)
	channel, _ := view.Snapshot().Channel("20")
	if _, got := view.Snapshot().BotPermissionsIn(channel); !got {
		t.Error("in a channel of a live view they are not exact")
	}
	c.Disconnected(nil)
	exact("disconnected", false)
	if _, got := view.Snapshot().BotPermissionsIn(channel); got {
		t.Error("in a channel, they count as exact though the Gateway is down")
	}
	c.session(t, guildEmpty)
	exact("a session that does not tell the bot's roles", false)
}

// When Discord says that what a write is about is not there, the view is wrong and is read again.
func TestAContradictedWriteHasTheGuildReadAgain(t *testing.T) {
	t.Parallel()
	gone := func(code int) error {
		return &discordclient.Error{Class: discordclient.ClassGone, Code: code, Status: http.StatusNotFound, Op: "write"}
	}
	for name, act := range map[string]func(c *cache){
		"an overwrite": func(c *cache) {
			_ = c.write(func() (map[string]*discordclient.Channel, error) {
				return nil, gone(discordclient.CodeUnknownOverwrite)
			}, "20")
		},
		"one of several channels": func(c *cache) {
			_ = c.write(func() (map[string]*discordclient.Channel, error) { return nil, gone(discordclient.CodeUnknownChannel) }, "20", "21")
		},
		"settings": func(c *cache) {
			_, _ = c.guildEdit("1", func() (discordclient.Guild, error) {
				return discordclient.Guild{}, gone(discordclient.CodeUnknownGuild)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, view := newTestCache(t)
			c.session(t, guildWith20)
			c.receive(t, "CHANNEL_UPDATE", edited20)
			act(c)
			if id, _ := c.due(time.Now()); id != "1" {
				t.Fatal("the guild is not read again")
			}
			if name == "settings" {
				return
			}
			c.listed("1", []*discordclient.Channel{{ID: "20", GuildID: "1", Name: "c"}}, time.Now())
			if channel, _ := view.Snapshot().Channel("20"); channel.Name != "c" {
				t.Errorf("what was read is not believed: %+v", channel)
			}
		})
	}
}

// A channel that Discord says is gone does not come back with an older change of it.
func TestAMissedChannelStaysOut(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, guildWith20)
	c.receive(t, "CHANNEL_UPDATE", edited20)
	_ = c.write(func() (map[string]*discordclient.Channel, error) {
		return nil, &discordclient.Error{Class: discordclient.ClassGone, Code: discordclient.CodeUnknownChannel}
	}, "20")
	c.listed("1", nil, time.Now())
	if got := fmt.Sprint(view.Snapshot().Channels()); got != "[]" {
		t.Errorf("the view has %s", got)
	}
}

// The Gateway may lose an event without a gap in its numbers: a live view is read now and then all the same.
func TestALiveViewIsCheckedNowAndThen(t *testing.T) {
	t.Parallel()
	c, view := newTestCache(t)
	c.session(t, guildWith20)
	now := time.Now()
	if id, wait := c.due(now); id != "" || wait < resyncLive/2 {
		t.Errorf("a fresh view is due for a check in %v", wait)
	}
	if id, _ := c.due(now.Add(2 * resyncLive)); id != "1" {
		t.Error("the view is never checked")
	}
	c.listed("1", nil, now.Add(2*resyncLive)) // the deletion's event was lost
	c.refreshed("1", PresencePresent, now.Add(2*resyncLive))
	if n := len(view.Snapshot().Channels()); n > 0 || view.Snapshot().Mode != ModeLive {
		t.Errorf("after the check: %d channels, mode %q", n, view.Snapshot().Mode)
	}
	if id, wait := c.due(time.Now()); id != "" || wait < resyncLive/2 {
		t.Errorf("after a check, the next one is due in %v", wait)
	}
	c.refreshed("1", PresenceAbsent, time.Now().Add(-time.Hour))
	if got := view.Snapshot().Presence; got != PresencePresent {
		t.Errorf("an old answer makes the guild %q", got)
	}
	c.refreshed("1", PresenceAbsent, time.Now())
	if got := view.Snapshot(); got.Presence != PresenceAbsent || got.Mode != ModeLive {
		t.Errorf("the check found the bot removed, and the guild is %q, %q", got.Presence, got.Mode)
	}
	if id, wait := c.due(time.Now()); id != "" || wait < resyncLive/2 {
		t.Errorf("a guild that the bot is not in is due for a check in %v", wait)
	}
	if id, _ := c.due(time.Now().Add(2 * resyncLive)); id != "1" {
		t.Error("should the event of an invitation be lost, nothing finds it out")
	}
	c.receive(t, "GUILD_CREATE", guildWith20)
	c.Disconnected(nil)
	if _, wait := c.due(time.Now()); wait > c.resync {
		t.Errorf("without the Gateway it is polled in %v, want %v", wait, c.resync)
	}
}
