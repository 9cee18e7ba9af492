// SPDX-License-Identifier: Apache-2.0

package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

type clock struct{ t time.Time }

func newClock() *clock                   { return &clock{time.Unix(1_700_000_000, 0)} }
func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }
func (c *clock) epoch(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

func (c *clock) answer(bucket string, limit, remaining int, resetAfter time.Duration) *ratelimit.Answer {
	h := http.Header{}
	h.Set("X-RateLimit-Bucket", bucket)
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
	h.Set("X-RateLimit-Reset", c.epoch(c.t.Add(resetAfter)))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", resetAfter.Seconds()))
	a := ratelimit.ParseHeader(h)
	return &a
}

func edit(id string) ratelimit.Call { return ratelimit.Call{Route: "PATCH /channels/{}", Major: id} }
func rename(id string) ratelimit.Call {
	return ratelimit.Call{Route: "PATCH /channels/{}", Major: id, Hidden: "name"}
}
func remove(id string) ratelimit.Call {
	return ratelimit.Call{Route: "DELETE /channels/{}", Major: id, Urgent: true}
}

// known makes a limiter that knows that the routes of edit and remove have no bucket.
func known(t *testing.T, c *clock) *ratelimit.Limiter {
	t.Helper()
	l := ratelimit.New(50, c.now)
	call(t, l, edit("0"), &ratelimit.Answer{})
	call(t, l, remove("0"), &ratelimit.Answer{})
	c.advance(2 * time.Second)
	return l
}

func call(t *testing.T, l *ratelimit.Limiter, c ratelimit.Call, a *ratelimit.Answer) {
	t.Helper()
	if peeked := l.Peek(c); peeked != nil {
		t.Fatalf("%v is said to have to wait %v (%s), want it allowed", c, peeked.After, peeked.Scope)
	}
	ticket, wait := l.Reserve(c)
	if wait != nil {
		t.Fatalf("%v has to wait %v (%s), want it allowed", c, wait.After, wait.Scope)
	}
	l.Done(ticket, a)
}

func refused(t *testing.T, l *ratelimit.Limiter, c ratelimit.Call, after time.Duration, scope string) {
	t.Helper()
	if peeked := l.Peek(c); peeked == nil || peeked.Scope != scope {
		t.Fatalf("%v is said to wait %v, want %v (%s)", c, peeked, after, scope)
	}
	_, wait := l.Reserve(c)
	if wait == nil {
		t.Fatalf("%v is allowed, want it to wait %v (%s)", c, after, scope)
	}
	if wait.Scope != scope || wait.After.Round(time.Millisecond) != after {
		t.Fatalf("%v waits %v (%s), want %v (%s)", c, wait.After, wait.Scope, after, scope)
	}
}

func TestBucketIsKeptPerMajorParameter(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	call(t, l, edit("1"), c.answer("b", 2, 1, 10*time.Second))
	call(t, l, edit("1"), c.answer("b", 2, 0, 10*time.Second))
	refused(t, l, edit("1"), 10*time.Second, ratelimit.ScopeUser)
	call(t, l, edit("2"), c.answer("b", 2, 1, 10*time.Second)) // a call for another channel need not wait
	c.advance(10 * time.Second)
	call(t, l, edit("1"), c.answer("b", 2, 1, 10*time.Second))
}

func TestFirstCallOfARouteGoesAlone(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	first, wait := l.Reserve(edit("1"))
	if wait != nil {
		t.Fatal("the first call has to wait")
	}
	refused(t, l, edit("2"), 100*time.Millisecond, ratelimit.ScopeUnknown)
	l.Done(first, c.answer("b", 5, 4, time.Second))
	call(t, l, edit("2"), nil)
	// A first call without an answer, or without Done, does not block its route for ever.
	lost, _ := l.Reserve(remove("1"))
	l.Done(lost, nil)
	if _, wait := l.Reserve(remove("1")); wait != nil {
		t.Fatal("a lost first call closed its route")
	}
	refused(t, l, remove("1"), 100*time.Millisecond, ratelimit.ScopeUnknown)
	c.advance(time.Minute)
	call(t, l, remove("1"), &ratelimit.Answer{})
	call(t, l, remove("1"), &ratelimit.Answer{}) // a route without a bucket has no limit of its own
}

func TestAHangingFirstCallDoesNotBlockItsRoute(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	hangs, _ := l.Reserve(edit("1"))
	refused(t, l, edit("2"), 100*time.Millisecond, ratelimit.ScopeUnknown)
	c.advance(time.Second)
	call(t, l, edit("2"), c.answer("b", 5, 4, time.Second))
	call(t, l, edit("1"), c.answer("b", 5, 4, time.Second))
	l.Done(hangs, nil)
	call(t, l, edit("1"), c.answer("b", 5, 3, time.Second))
}

// The answer of a proxy or of a failed server names no bucket, but the route may still have one.
func TestAFailureTeachesNothingAboutARoute(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	call(t, l, edit("1"), &ratelimit.Answer{Foreign: true})
	first, wait := l.Reserve(edit("1"))
	if wait != nil {
		t.Fatal("the route is closed")
	}
	refused(t, l, edit("2"), 100*time.Millisecond, ratelimit.ScopeUnknown)
	l.Done(first, c.answer("b", 5, 4, time.Second))
	call(t, l, edit("2"), nil)
}

func TestALostCallCountsUntilItsWindowEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reported int           // calls of the window with an answer; the answers of its other calls are lost
		after    time.Duration // time until the window has certainly ended
	}{
		"in a window that was reported":     {reported: 1, after: 5 * time.Second},
		"in a window that was not reported": {reported: 0, after: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			l := ratelimit.New(50, clock.now)
			call(t, l, edit("0"), clock.answer("b", 3, 2, 10*time.Second)) // shows the limit
			clock.advance(5 * time.Second)
			for range c.reported {
				call(t, l, edit("1"), clock.answer("b", 3, 2, 5*time.Second))
			}
			for range 3 - c.reported {
				call(t, l, edit("1"), nil)
			}
			refused(t, l, edit("1"), c.after, ratelimit.ScopeUser)
			clock.advance(c.after)
			call(t, l, edit("1"), nil)
		})
	}
}

func refusal(scope string, after time.Duration) *ratelimit.Answer {
	return &ratelimit.Answer{Refused: &ratelimit.Refusal{After: after, Scope: scope}}
}

func TestTheLongerRefusalCounts(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	call(t, l, edit("0"), &ratelimit.Answer{})
	late, wait := l.Reserve(edit("0"))
	if wait != nil {
		t.Fatal("an edit has to wait")
	}
	call(t, l, edit("2"), refusal(ratelimit.ScopeBlocked, time.Minute))
	refused(t, l, edit("1"), time.Minute, ratelimit.ScopeBlocked)
	l.Done(late, refusal(ratelimit.ScopeGlobal, 2*time.Minute))
	refused(t, l, edit("1"), 2*time.Minute, ratelimit.ScopeGlobal)
	c.advance(time.Minute)
	refused(t, l, edit("1"), time.Minute, ratelimit.ScopeGlobal)
	c.advance(time.Minute)
	call(t, l, edit("1"), nil)
}

func TestAHiddenLimitDelaysOnlyItsKindOfChange(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	call(t, l, rename("1"), c.answer("b", 5, 4, 15*time.Second))
	a := c.answer("b", 5, 4, 15*time.Second) // as in Discord's 429, the headers do not show the limit
	a.Refused = &ratelimit.Refusal{After: 582 * time.Second, Scope: ratelimit.ScopeUser}
	call(t, l, rename("1"), a)
	refused(t, l, rename("1"), 582*time.Second, ratelimit.ScopeHidden)
	call(t, l, edit("1"), c.answer("b", 5, 3, 15*time.Second))   // other fields of that channel can change
	call(t, l, rename("2"), c.answer("b", 5, 4, 15*time.Second)) // other channels can be renamed
	c.advance(582 * time.Second)
	call(t, l, rename("1"), c.answer("b", 5, 4, 15*time.Second))
}

func TestRefusalsByScope(t *testing.T) {
	t.Parallel()
	for scope, others := range map[string]bool{"user": true, "shared": true, "global": false, "blocked": false} {
		for name, with := range map[string]bool{"with a bucket": true, "without a bucket": false} {
			t.Run(scope+" "+name, func(t *testing.T) {
				t.Parallel()
				c := newClock()
				l := ratelimit.New(50, c.now)
				a := &ratelimit.Answer{}
				if with {
					a = c.answer("b", 5, 0, 3*time.Second)
				}
				a.Refused = &ratelimit.Refusal{After: 3 * time.Second, Scope: scope}
				call(t, l, edit("1"), a)
				refused(t, l, edit("1"), 3*time.Second, scope)
				if _, wait := l.Reserve(edit("2")); (wait == nil) != others {
					t.Errorf("another channel waits: %v", wait)
				}
				c.advance(3 * time.Second)
				call(t, l, edit("1"), nil)
			})
		}
	}
}

func TestGlobalLimitKeepsAPartForUrgentCalls(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := known(t, c)
	for range 40 {
		call(t, l, edit("1"), nil)
	}
	refused(t, l, edit("1"), time.Second, ratelimit.ScopeGlobal)
	for range 10 {
		call(t, l, remove("1"), nil)
	}
	refused(t, l, remove("1"), time.Second, ratelimit.ScopeGlobal)
	if got := l.Remaining(); got != 0 {
		t.Errorf("%d calls remain, want none", got)
	}
	c.advance(time.Second)
	if got := l.Remaining(); got != 50 {
		t.Errorf("%d calls remain a second later, want 50", got)
	}
	call(t, l, edit("1"), nil)
}

func TestUrgentCallsLeaveThePartOfEdits(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := known(t, c)
	for range 10 {
		call(t, l, remove("1"), nil)
	}
	for range 40 {
		call(t, l, edit("1"), nil)
	}
	refused(t, l, edit("1"), time.Second, ratelimit.ScopeGlobal)
	refused(t, l, remove("1"), time.Second, ratelimit.ScopeGlobal)
}

func TestEditsLeaveTheLastCallOfASharedBucketToDeletes(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	call(t, l, remove("9"), c.answer("b", 5, 4, time.Second))
	call(t, l, edit("1"), c.answer("b", 5, 1, time.Second))
	refused(t, l, edit("1"), time.Second, ratelimit.ScopeUser)
	call(t, l, remove("1"), c.answer("b", 5, 0, time.Second))
	refused(t, l, remove("1"), time.Second, ratelimit.ScopeUser)
}

// server counts calls in fixed windows, as Discord does, and detects a call that breaks the limit.
type server struct {
	limit  int
	length time.Duration
	ends   map[string]time.Time
	used   map[string]int
}

func (s *server) take(c *clock, id string) (a *ratelimit.Answer, ok bool) {
	if !c.t.Before(s.ends[id]) {
		s.ends[id], s.used[id] = c.t.Add(s.length), 0
	}
	s.used[id]++
	return c.answer("b", s.limit, max(0, s.limit-s.used[id]), s.ends[id].Sub(c.t)), s.used[id] <= s.limit
}

func TestConcurrentCallsNeverBreakABucket(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		c := newClock()
		l := ratelimit.New(50, c.now)
		s := &server{limit: 1 + rng.IntN(8), length: time.Duration(1+rng.IntN(9)) * time.Second, ends: map[string]time.Time{}, used: map[string]int{}}
		type flight struct {
			id                string
			t                 ratelimit.Ticket
			a                 *ratelimit.Answer
			arrives, answered time.Time
			lost              bool
		}
		var flying []flight
		made := 0
		for step := 0; made < 100 || len(flying) > 0; step++ {
			if step > 100_000 {
				t.Fatalf("seed %d: stuck after %d calls", seed, made)
			}
			if id := strconv.Itoa(rng.IntN(3)); made < 100 {
				if ticket, wait := l.Reserve(edit(id)); wait == nil {
					made++
					arrives := c.t.Add(time.Duration(rng.IntN(300)) * time.Millisecond)
					answered := arrives.Add(time.Duration(rng.IntN(300)) * time.Millisecond)
					lost := made > 1 && rng.IntN(5) == 0 // never lose the first: it shows the window
					flying = append(flying, flight{id: id, t: ticket, arrives: arrives, answered: answered, lost: lost})
				}
			}
			for i := range flying {
				if f := &flying[i]; f.a == nil && !c.t.Before(f.arrives) {
					var ok bool
					if f.a, ok = s.take(c, f.id); !ok {
						t.Fatalf("seed %d: call %d breaks the limit of %d in %v", seed, made, s.limit, s.length)
					}
				}
			}
			flying = slices.DeleteFunc(flying, func(f flight) bool {
				if f.a == nil || c.t.Before(f.answered) {
					return false
				}
				if f.lost {
					f.a = nil
				}
				l.Done(f.t, f.a)
				return true
			})
			c.advance(time.Duration(1+rng.IntN(40)) * time.Millisecond)
		}
	}
}

func TestConcurrentCallsNeverBreakTheGlobalLimit(t *testing.T) {
	t.Parallel()
	const limit = 10
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 7))
		c := newClock()
		l := ratelimit.New(limit, c.now)
		call(t, l, edit("0"), &ratelimit.Answer{}) // the route has no bucket
		s := &server{limit: limit, length: time.Second, ends: map[string]time.Time{}, used: map[string]int{}}
		s.take(c, "")
		type flight struct {
			t                 ratelimit.Ticket
			arrives, answered time.Time
		}
		var flying []flight
		for made := 0; made < 100 || len(flying) > 0; c.advance(time.Millisecond) {
			if made < 100 {
				if ticket, wait := l.Reserve(edit("1")); wait == nil {
					arrives := c.t.Add(time.Duration(rng.IntN(100)) * time.Millisecond)
					flying = append(flying, flight{ticket, arrives, arrives.Add(time.Duration(rng.IntN(100)) * time.Millisecond)})
					made++
				}
			}
			for i := 0; i < len(flying); i++ {
				f := &flying[i]
				if c.t.Equal(f.arrives) {
					if _, ok := s.take(c, ""); !ok {
						t.Fatalf("seed %d: call %d breaks the limit", seed, made)
					}
				}
				if !c.t.Before(f.answered) {
					l.Done(f.t, &ratelimit.Answer{})
					flying = append(flying[:i], flying[i+1:]...)
					i--
				}
			}
		}
	}
}

type caller struct {
	call   ratelimit.Call // the next call
	next   time.Time      // when to call act next
	ticket *ratelimit.Ticket
}

func (a *caller) act(t *testing.T, c *clock, l *ratelimit.Limiter, took time.Duration) (done bool) {
	t.Helper()
	if a.ticket != nil {
		l.Done(*a.ticket, nil)
		a.ticket = nil
		a.call.More--
		return a.call.More < 0
	}
	ticket, wait := l.Reserve(a.call)
	switch {
	case wait == nil:
		a.ticket, a.next = &ticket, c.t.Add(took)
	case wait.Scope != ratelimit.ScopeGlobal:
		t.Fatalf("a caller has to wait %v (%s)", wait.After, wait.Scope)
	default:
		a.next = c.t.Add(wait.After)
	}
	return false
}

func serve(t *testing.T, c *clock, l *ratelimit.Limiter, queue []*caller, took time.Duration) (attempts int) {
	t.Helper()
	for len(queue) > 0 {
		first := slices.MinFunc(queue, func(a, b *caller) int { return a.next.Compare(b.next) })
		c.t = first.next
		if first.ticket == nil {
			attempts++
		}
		if first.act(t, c, l, took) {
			queue = slices.DeleteFunc(queue, func(a *caller) bool { return a == first })
		}
	}
	return attempts
}

// A caller waits once, or up to three times if calls take time, and never between its own calls.
func TestCallersComeBackWhenTheyMay(t *testing.T) {
	t.Parallel()
	const latency = 50 * time.Millisecond
	for name, test := range map[string]struct {
		callers, more int
		took          time.Duration
		heldBack      int
	}{
		"60 callers": {60, 0, 0, 1}, "500 callers": {500, 0, 0, 1}, "2000 callers": {2000, 0, 0, 1}, "two calls of each caller": {500, 1, 0, 1},
		"slow calls": {500, 0, latency, 3}, "two slow calls of each caller": {500, 1, latency, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			l := ratelimit.New(50, c.now)
			call(t, l, remove("0"), &ratelimit.Answer{}) // the route has no bucket
			began := c.t
			all := make([]*caller, test.callers)
			for i := range all {
				all[i] = &caller{call: named(remove("1"), i, test.more), next: c.t}
			}
			attempts, calls := serve(t, c, l, all, test.took), test.callers*(1+test.more)
			if most := test.callers*test.heldBack + calls; attempts > most {
				t.Errorf("%d callers made %d attempts for %d calls, want %d at most", test.callers, attempts, calls, most)
			}
			// While a caller's first call lasts, its second call is reserved: a round takes longer.
			round := time.Second + time.Duration(1+test.more)*test.took
			if took, want := c.t.Sub(began), time.Duration(calls/50)*round; took > want {
				t.Errorf("%d calls took %v, want %v", calls, took, want)
			}
		})
	}
}

func TestPlacesExpire(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	call(t, l, remove("0"), &ratelimit.Answer{})
	for i := range 149 { // 49 calls are made now, and the other 100 fill two more seconds
		one := remove("1")
		one.Caller = strconv.Itoa(i)
		if ticket, wait := l.Reserve(one); wait == nil {
			l.Done(ticket, nil)
		}
	}
	late := remove("1")
	late.Caller = "late"
	_, wait := l.Reserve(late)
	if wait == nil || wait.After < 2*time.Second || wait.After > 3*time.Second {
		t.Fatalf("behind two seconds of reserved calls, a call has to wait %v", wait)
	}
	c.advance(wait.After + 1500*time.Millisecond)
	other := remove("1")
	other.Caller = "other"
	if _, wait = l.Reserve(other); wait != nil {
		t.Errorf("all reservations have expired, but a call has to wait %v", wait)
	}
}

func TestParseHeaderAndSeconds(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"": 0, "x": 0, "-1": 0, "NaN": 0, "0.0001": time.Millisecond, "1": time.Second, "64.57": 64570 * time.Millisecond,
		"1e300": 24 * time.Hour, "Inf": 24 * time.Hour,
	} {
		if got := ratelimit.Seconds(in); got != want {
			t.Errorf("Seconds(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestMemoryFollowsTheCallsInUse(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(50, c.now)
	for i := range 5000 {
		call(t, l, edit(strconv.Itoa(i)), c.answer("b", 5, 4, time.Second))
		c.advance(50 * time.Millisecond)
	}
	if got := l.Buckets(); got > 1100 {
		t.Errorf("%d buckets are kept after 5000 channels, want only the buckets in use", got)
	}
}
