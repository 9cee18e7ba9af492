// SPDX-License-Identifier: Apache-2.0

package recovery_test

import (
	"fmt"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/recovery"
	"jutsu.com/operators/test/discordtest"
)

// roundCalls is the limit of a round: channel list, own creates, the bot's user id, three matches.
const roundCalls = 6

type asks struct {
	*cachetest.Rig

	intent recovery.Intent
	now    time.Time
	// asked counts the audit log look-ups for each channel id.
	asked map[string]int
}

func newAsks(t *testing.T, n int, hidden, own, lost bool) *asks {
	t.Helper()
	r := cachetest.New(t, func(_ *discordtest.Options, g *guildcache.Options) { g.DisableGateway = !hidden })
	a := &asks{Rig: r, now: time.Now().Add(90 * time.Second), asked: map[string]int{}}
	if lost {
		r.Discord.Faults().LoseAudit(-1)
	}
	for range n {
		ch := discordtest.Channel{Name: "tokyo"}
		if hidden {
			ch.Overwrites = []discordtest.Overwrite{{ID: r.Guild, Deny: discordtest.PermViewChannel}}
		}
		r.Discord.CreateChannelByHand(r.Guild, ch)
	}
	if own {
		r.Discord.Faults().LoseAudit(1)
		r.Create(discordclient.ChannelCreate{Name: "tokyo"})
	}
	r.Client = r.NewClient()
	if hidden {
		guild := r.Client.Guild(r.Guild)
		go func() { _ = r.Client.Run(t.Context()) }()
		for guild.Snapshot().Mode != guildcache.ModeLive {
			<-time.After(time.Millisecond)
		}
	}
	a.intent = recovery.Intent{
		GuildID: r.Guild, Name: "tokyo", Reason: "uid", NotBefore: time.Now().Add(-time.Second), LastAttempt: time.Now(),
		Now: func() time.Time { return a.now },
	}
	return a
}

func (a *asks) round(in recovery.Intent) (recovery.Result, int) {
	a.Helper()
	a.Discord.ResetRequests()
	got, err := recovery.Channel(a.Context(), a.Client, in)
	if err != nil {
		a.Fatal(err)
	}
	for _, r := range a.Discord.Requests() {
		if id := r.Query.Get("target_id"); id != "" {
			a.asked[id]++
		}
	}
	return got, len(a.Discord.Requests())
}

func (a *asks) total() int {
	n := 0
	for _, times := range a.asked {
		n += times
	}
	return n
}

// settle repeats round until the result is sure, or until a round looks up no channel.
func (a *asks) settle(in recovery.Intent, rounds int) recovery.Result {
	a.Helper()
	var got recovery.Result
	for range rounds {
		before := a.total()
		var calls int
		if got, calls = a.round(in); calls > roundCalls {
			a.Errorf("a round made %d calls, want %d at most", calls, roundCalls)
		}
		if got.Outcome != recovery.Unsure || a.total() == before {
			return got
		}
		a.now = a.now.Add(got.After)
	}
	a.Errorf("after %d rounds it is %s: %s", rounds, got.Outcome, got.Why)
	return got
}

func TestTheNumberOfMatchesDoesNotChangeTheResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hidden, own, lost bool
		want              recovery.Outcome
	}{
		"visible, made by other users":              {want: recovery.Absent},
		"visible, and one is the intent's":          {own: true, want: recovery.Found},
		"visible, and no audit log":                 {lost: true, want: recovery.Unsure},
		"hidden, made by other users":               {hidden: true, want: recovery.Absent},
		"hidden, and the intent's match is visible": {hidden: true, own: true, want: recovery.Found},
		"hidden, and no audit log":                  {hidden: true, lost: true, want: recovery.Unsure},
	} {
		for _, n := range []int{3, 4, 40} {
			t.Run(fmt.Sprintf("%d %s", n, name), func(t *testing.T) {
				t.Parallel()
				a := newAsks(t, n, c.hidden, c.own, c.lost)
				if got := a.settle(a.intent, n/3+4); got.Outcome != c.want {
					t.Errorf("it is %s (%s), want %s", got.Outcome, got.Why, c.want)
				}
				if len(a.asked) < n {
					t.Errorf("the audit log was asked about %d channels, want %d", len(a.asked), n)
				}
				another := a.intent
				another.Reason = "uid2"
				a.settle(another, 3)
				for id, times := range a.asked {
					if times != 1 {
						t.Errorf("the audit log was asked %d times about %s", times, id)
					}
				}
			})
		}
	}
}

func TestALateEntryIsFound(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(o *discordtest.Options, g *guildcache.Options) {
		o.AuditDelay, g.DisableGateway = 2*time.Minute, true
	})
	for range 2 {
		r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "tokyo"})
	}
	a := &asks{Rig: r, now: time.Now().Add(90 * time.Second), asked: map[string]int{}}
	a.intent = recovery.Intent{
		GuildID: r.Guild, Name: "tokyo", Reason: "uid", NotBefore: time.Now().Add(-time.Second), LastAttempt: time.Now(),
		Now: func() time.Time { return a.now },
	}
	if got := a.settle(a.intent, 5); got.Outcome != recovery.Unsure {
		t.Fatalf("it is %s (%s), want it unsure", got.Outcome, got.Why)
	}
	r.Discord.Advance(5 * time.Minute)
	a.now = a.now.Add(11 * time.Minute)
	if got := a.settle(a.intent, 5); got.Outcome != recovery.Absent {
		t.Errorf("it is %s (%s), want %s", got.Outcome, got.Why, recovery.Absent)
	}
}

func TestALookupWaitsForTheEntry(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(o *discordtest.Options, g *guildcache.Options) {
		o.AuditDelay, g.DisableGateway = 5*time.Second, true
	})
	a := &asks{Rig: r, now: time.Now(), asked: map[string]int{}}
	a.intent = recovery.Intent{
		GuildID: r.Guild, Name: "tokyo", Reason: "uid", NotBefore: time.Now().Add(-time.Minute),
		LastAttempt: time.Now().Add(-time.Minute), Now: func() time.Time { return a.now },
	}
	r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "tokyo"})
	for range 5 {
		got, _ := a.round(a.intent)
		if got.Outcome != recovery.Unsure || got.After != recovery.DefaultPropagation || a.total() > 0 {
			t.Fatalf("it is %s (%s) until %v, after %d lookups; want it unsure", got.Outcome, got.Why, got.After, a.total())
		}
		r.Discord.Advance(got.After - time.Second)
		a.now = a.now.Add(got.After - time.Second)
	}
	r.Discord.Advance(10 * time.Second)
	a.now = a.now.Add(10 * time.Second)
	if got := a.settle(a.intent, 3); got.Outcome != recovery.Absent {
		t.Errorf("it is %s (%s), want %s", got.Outcome, got.Why, recovery.Absent)
	}
}
