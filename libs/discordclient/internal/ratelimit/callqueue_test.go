// SPDX-License-Identifier: Apache-2.0

package ratelimit_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

type callers struct {
	t    *testing.T
	l    *ratelimit.Limiter
	took time.Duration // duration of each call

	mu       sync.Mutex
	begun    map[string]time.Time // start of each caller's first call
	attempts int
	calls    sync.WaitGroup
}

// newCallers makes a limiter that knows that the routes of remove and edit have no bucket.
func newCallers(t *testing.T, took time.Duration) *callers {
	t.Helper()
	c := &callers{t: t, l: ratelimit.New(50, time.Now), took: took, begun: map[string]time.Time{}}
	call(t, c.l, remove("0"), &ratelimit.Answer{}) // the answer names no bucket
	call(t, c.l, edit("0"), &ratelimit.Answer{})
	<-time.After(2 * time.Second) // these calls have left the window
	return c
}

func (c *callers) start(what ratelimit.Call) {
	c.calls.Add(1)
	what.NotifyReady = func() { c.ask(what) }
	c.ask(what)
}

func (c *callers) ask(what ratelimit.Call) {
	c.mu.Lock()
	c.attempts++
	c.mu.Unlock()
	ticket, wait := c.l.Reserve(what)
	if wait != nil {
		return // the caller asks again when it is notified
	}
	c.mu.Lock()
	c.begun[what.Caller] = time.Now()
	c.mu.Unlock()
	go func() {
		defer c.calls.Done()
		for {
			<-time.After(c.took)
			c.l.Done(ticket, &ratelimit.Answer{})
			if what.More--; what.More < 0 {
				return
			}
			if ticket, wait = c.l.Reserve(what); wait != nil {
				c.t.Errorf("%s is held back by %v between its calls", what.Caller, wait)
				return
			}
		}
	}()
}

func named(what ratelimit.Call, i, more int) ratelimit.Call {
	what.Caller, what.More = strconv.Itoa(i), more
	return what
}

func TestCallersAreNotifiedInOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		callers, more int
		took          time.Duration
	}{
		"60 callers": {60, 0, 0}, "2000 callers": {2000, 0, 0}, "two calls of each caller": {500, 1, 0},
		"slow calls": {500, 0, 50 * time.Millisecond}, "two slow calls of each caller": {500, 1, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, began := newCallers(t, test.took), time.Now()
				for i := range test.callers {
					c.start(named(remove("1"), i, test.more))
				}
				c.calls.Wait()
				calls := test.callers * (1 + test.more)
				rounds := (calls+49)/50 - 1
				least := time.Duration(rounds)*(time.Second+test.took) + time.Duration(1+test.more)*test.took
				if took := time.Since(began); took > least+time.Duration(test.more*rounds)*test.took {
					t.Errorf("%d calls took %v, want %v", calls, took, least)
				}
				if most := 2*test.callers - 50/(1+test.more); c.attempts > most {
					t.Errorf("%d callers asked %d times, want %d", test.callers, c.attempts, most)
				}
				for i := 1; i < test.callers; i++ {
					if c.begun[strconv.Itoa(i)].Before(c.begun[strconv.Itoa(i-1)]) {
						t.Fatalf("caller %d went before the caller ahead of it", i)
					}
				}
			})
		})
	}
}

func TestUrgentCallersAreNotifiedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, began := newCallers(t, 0), time.Now()
		for i := range 100 { // 40 in each second
			c.start(named(edit("1"), i, 0))
		}
		for i := range 20 {
			c.start(named(remove("1"), 100+i, 0))
		}
		c.calls.Wait()
		var urgent, others []time.Duration
		for name, at := range c.begun {
			if i, _ := strconv.Atoi(name); i >= 100 {
				urgent = append(urgent, at.Sub(began))
			} else {
				others = append(others, at.Sub(began))
			}
		}
		if latest := slices.Max(urgent); latest != time.Second {
			t.Errorf("the last of the urgent went after %v, want 1s", latest)
		}
		if latest := slices.Max(others); latest < 2*time.Second || latest > 3*time.Second {
			t.Errorf("the last of the others went after %v, want 2s to 3s", latest)
		}
	})
}

func TestReservationsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, began := newCallers(t, 0), time.Now()
		for i := range 50 {
			c.start(named(remove("1"), i, 0))
		}
		notified := 0
		for i := range 50 {
			gone := named(remove("1"), 100+i, 0)
			gone.NotifyReady = func() { c.mu.Lock(); defer c.mu.Unlock(); notified++ }
			if _, wait := c.l.Reserve(gone); wait == nil {
				t.Fatal("more than 50 calls are allowed at once")
			}
		}
		c.start(named(remove("1"), 999, 0))
		c.calls.Wait()
		if notified != 50 {
			t.Errorf("%d callers were notified, want 50", notified)
		}
		if took := time.Since(began); took < 2*time.Second || took > 2100*time.Millisecond {
			t.Errorf("behind 50 callers that do not come back, a caller went after %v, want 2s", took)
		}
	})
}

func TestCallersAreNotifiedAfterARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, began := newCallers(t, 0), time.Now()
		ticket, _ := c.l.Reserve(remove("1"))
		c.l.Done(ticket, refusal(ratelimit.ScopeGlobal, 5*time.Second))
		for i := range 60 {
			c.start(named(remove("1"), i, 0))
		}
		c.calls.Wait()
		first, last := c.begun["0"].Sub(began), c.begun["59"].Sub(began)
		if first != 5*time.Second || last != 6*time.Second {
			t.Errorf("the first went after %v and the last after %v, want 5s and 6s", first, last)
		}
		if c.attempts != 120 {
			t.Errorf("60 callers asked %d times, want at most twice for each", c.attempts)
		}
	})
}
