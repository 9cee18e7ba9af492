// SPDX-License-Identifier: Apache-2.0

package ratelimit_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

func by(tenant string, c ratelimit.Call) ratelimit.Call {
	c.Tenant, c.Limited = tenant, true
	return c
}

func byOwner(c ratelimit.Call) ratelimit.Call {
	c.Tenant = "owner"
	return c
}

func TestATenantTakesHalfOfTheLimit(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := known(t, c)
	for range 20 {
		call(t, l, by("a", edit("1")), nil)
	}
	refused(t, l, by("a", edit("1")), time.Second, ratelimit.ScopeTenant)
	for range 5 {
		call(t, l, by("a", remove("1")), nil)
	}
	refused(t, l, by("a", remove("1")), time.Second, ratelimit.ScopeTenant)
	if got := l.Remaining(); got != 25 {
		t.Errorf("%d calls remain, want 25", got)
	}
	for range 20 {
		call(t, l, by("b", edit("1")), nil)
	}
	for range 5 {
		call(t, l, byOwner(remove("1")), nil)
	}
	refused(t, l, by("b", remove("1")), time.Second, ratelimit.ScopeGlobal)
	c.advance(time.Second)
	call(t, l, by("a", edit("1")), nil)
}

func TestTheOwnerAndTheBotTakeTheWholeLimit(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(ratelimit.Call) ratelimit.Call{
		"the owner": byOwner, "the bot itself": func(c ratelimit.Call) ratelimit.Call { return c },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			l := known(t, c)
			for range 40 {
				call(t, l, of(edit("1")), nil)
			}
			for range 10 {
				call(t, l, of(remove("1")), nil)
			}
			c.advance(time.Second)
			for range 50 {
				call(t, l, of(remove("1")), nil)
			}
			refused(t, l, of(remove("1")), time.Second, ratelimit.ScopeGlobal)
		})
	}
}

// Calls of other tenants that fit into the other half of the limit do not wait.
func TestAFloodLeavesHalfOfTheLimit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 11))
		c := newClock()
		l := known(t, c)
		type flight struct {
			ticket ratelimit.Ticket
			ends   time.Time
		}
		var flying []flight
		begin := func(what ratelimit.Call) *ratelimit.Wait {
			ticket, wait := l.Reserve(what)
			if wait == nil {
				flying = append(flying, flight{ticket, c.t.Add(time.Duration(rng.IntN(200)) * time.Millisecond)})
			}
			return wait
		}
		random := func() ratelimit.Call {
			if rng.IntN(2) == 0 {
				return edit("1")
			}
			return remove("1")
		}
		made := 0
		for step := range 500 {
			flying = slices.DeleteFunc(flying, func(f flight) bool {
				if c.t.Before(f.ends) {
					return false
				}
				l.Done(f.ticket, nil)
				return true
			})
			for range rng.IntN(4) {
				caller := rng.IntN(60)
				what := by("a", named([]ratelimit.Call{edit("1"), remove("1")}[caller%2], caller, caller%3/2))
				if begin(what) == nil {
					made++
				}
			}
			if got := l.Remaining(); got < 25-12 { // other tenants make 10 calls per second; a call takes up to 200 ms
				t.Fatalf("seed %d, step %d: %d calls remain", seed, step, got)
			}
			if step%10 == 0 { // ten times in a second
				what := random()
				what.Caller = "b"
				switch rng.IntN(3) {
				case 0:
					what = byOwner(what)
				case 1:
					what = by("b", what)
				}
				if wait := begin(what); wait != nil {
					t.Fatalf("seed %d, step %d: a call of another tenant waits %v", seed, step, wait)
				}
			}
			c.advance(10 * time.Millisecond)
		}
		if made < 5*15 {
			t.Errorf("seed %d: the tenant made %d calls in five seconds", seed, made)
		}
	}
}

func TestCallersOfATenantAreNotifiedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, began := newCallers(t, 0), time.Now()
		for i := range 500 {
			c.start(by("a", named(remove("1"), i, 0)))
		}
		for i := range 100 { // 20 in each of five seconds
			if i > 0 && i%20 == 0 {
				<-time.After(time.Second)
			}
			what := by("b", edit("1"))
			if i%2 == 0 {
				what = byOwner(what)
			}
			call(t, c.l, what, nil)
		}
		c.calls.Wait()
		if took := time.Since(began); took != 19*time.Second {
			t.Errorf("500 calls took %v, want 19s", took)
		}
		if c.attempts != 2*500-25 {
			t.Errorf("500 callers asked %d times, want %d", c.attempts, 2*500-25)
		}
		for i := 1; i < 500; i++ {
			if c.begun[strconv.Itoa(i)].Before(c.begun[strconv.Itoa(i-1)]) {
				t.Fatalf("caller %d went before the caller ahead of it", i)
			}
		}
	})
}

func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	for name, floods := range map[string][]func(ratelimit.Call) ratelimit.Call{
		"the owner": {byOwner},
		"the bot":   {func(c ratelimit.Call) ratelimit.Call { return c }},
		"two tenants": {
			func(c ratelimit.Call) ratelimit.Call { return by("a1", c) },
			func(c ratelimit.Call) ratelimit.Call { return by("a2", c) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCallers(t, 0)
				for i := range 600 {
					c.start(floods[i%len(floods)](named(remove("1"), i, 0)))
				}
				<-time.After(1500 * time.Millisecond)
				began := time.Now()
				for i := range 15 {
					c.start(by("b", named(edit("1"), 1000+i, 0)))
				}
				c.calls.Wait()
				last := time.Duration(0)
				for i := range 15 {
					last = max(last, c.begun[strconv.Itoa(1000+i)].Sub(began))
				}
				if last > 500*time.Millisecond {
					t.Errorf("behind 600 calls of others the last of 15 edits went after %v, want the next second", last)
				}
				if most := 2 * 615; c.attempts > most {
					t.Errorf("615 callers asked %d times, want %d", c.attempts, most)
				}
			})
		})
	}
}

func TestUrgentCallsOvertakeTheEditsOfTheirTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, 0)
		for i := range 50 { // these use up the current second
			c.start(named(remove("1"), i, 0))
		}
		began := time.Now()
		for i := range 100 {
			c.start(by("a", named(edit("1"), 100+i, 0)))
			c.start(by("b", named(edit("1"), 300+i, 0)))
		}
		for i := range 25 {
			c.start(by("a", named(remove("1"), 500+i, 0)))
		}
		c.calls.Wait()
		went := func(first, n int) (last time.Duration, soon int) {
			for i := range n {
				after := c.begun[strconv.Itoa(first+i)].Sub(began)
				last = max(last, after)
				if after <= time.Second {
					soon++
				}
			}
			return last, soon
		}
		if last, _ := went(500, 25); last != time.Second {
			t.Errorf("the last delete went after %v, want 1s", last)
		}
		if _, soon := went(100, 100); soon != 0 {
			t.Errorf("%d edits of the same tenant went with its deletes, want none", soon)
		}
		if _, soon := went(300, 100); soon != 20 {
			t.Errorf("%d edits of the other tenant went in the first second, want all 20 of its share", soon)
		}
	})
}

func TestMoreCallsThanAShareHas(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := ratelimit.New(2, c.now)
	call(t, l, remove("0"), &ratelimit.Answer{})
	c.advance(time.Second)
	two := by("a", remove("1"))
	two.Caller, two.More = "1", 1
	call(t, l, two, nil)
	two.More = 0
	refused(t, l, two, time.Second, ratelimit.ScopeTenant)
	c.advance(time.Second)
	call(t, l, two, nil)
}

func TestIdleSharesAreDropped(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := known(t, c)
	var tickets []ratelimit.Ticket
	for range 25 {
		ticket, wait := l.Reserve(by("slow", remove("1")))
		if wait != nil {
			t.Fatal(wait)
		}
		tickets = append(tickets, ticket)
	}
	for i := range 5000 {
		call(t, l, by(strconv.Itoa(i), edit("1")), nil)
		c.advance(50 * time.Millisecond)
	}
	if got := l.Shares(); got > 22 {
		t.Errorf("the shares of %d tenants are kept after 5000, want only the shares in use", got)
	}
	if _, wait := l.Reserve(by("slow", remove("1"))); wait == nil || wait.Scope != ratelimit.ScopeTenant {
		t.Errorf("a tenant with 25 calls under way waits %v, want it to wait for its share", wait)
	}
	for _, ticket := range tickets {
		l.Done(ticket, nil)
	}
	c.advance(time.Second)
	for range 25 {
		call(t, l, by("slow", remove("1")), nil)
	}
}
