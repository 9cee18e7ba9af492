// SPDX-License-Identifier: Apache-2.0

// Package faults makes REST calls go wrong as a test says: which call (Fault), what happens to it
// (Action), and how its answer is delayed, cut or dropped (deliver.go). What goes wrong with the
// Gateway is in gateway/faults.go.
package faults

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Fault is something that goes wrong with REST calls.
type Fault struct {
	// Route it concerns, "METHOD /template" (see Routes); empty: all.
	Route string
	// Match narrows it further; nil: all calls of the route. It runs under the simulator's lock:
	// don't call its methods.
	Match func(call.Request) bool
	// Times is how often it happens before it is over; 0: until removed.
	Times int
	// Rate is its probability, 0 to 1; 0 stands for 1.
	Rate float64
	// Action is what happens.
	Action
}

// Action is what a fault does to a call. The constructors below name the usual ones.
type Action struct {
	// Effect is whether the call is carried out.
	Effect bool
	// Before and After are waits ahead of and behind the effect, on the simulator's clock.
	Before, After time.Duration
	// Late other than 0 carries the call out only that long after the Answer, on the simulator's
	// clock.
	Late time.Duration
	// Hold keeps the answer back, after the effect, until it is closed.
	Hold <-chan struct{}
	// Status other than 0 replaces the Answer, with Body and Header; with Effect, a success does not
	// replace a refusal.
	Status int
	Body   string
	Header http.Header
	// Drop closes the connection instead of answering; with Cut, after that many bytes of the
	// answer (headers included); a negative Cut leaves that many bytes off the end.
	Drop bool
	Cut  int
}

// Faults are the faults that are switched on.
type Faults struct {
	discord  *model.Discord
	on       []*Fault
	injected int
	released chan struct{} // closed when held answers are to go
}

// New has nothing switched on.
func New(d *model.Discord) *Faults { return &Faults{discord: d, released: make(chan struct{})} }

// Add switches a fault on; the returned function switches it off. The first one that fits a call
// hits it.
func (f *Faults) Add(fault Fault) (remove func()) {
	f.discord.Lock()
	defer f.discord.Unlock()
	p := &fault
	f.on = append(f.on, p)
	return func() {
		f.discord.Lock()
		defer f.discord.Unlock()
		f.on = slices.DeleteFunc(f.on, func(x *Fault) bool { return x == p })
	}
}

// Clear switches all faults of REST calls off.
func (f *Faults) Clear() {
	f.discord.Lock()
	defer f.discord.Unlock()
	f.on, f.discord.LoseAudit = nil, 0
}

// Injected is how many calls a fault has hit so far.
func (f *Faults) Injected() int {
	f.discord.Lock()
	defer f.discord.Unlock()
	return f.injected
}

// LoseAudit makes the next n actions leave no audit log entry (negative: all), as Discord's log
// may.
func (f *Faults) LoseAudit(n int) {
	f.discord.Lock()
	defer f.discord.Unlock()
	f.discord.LoseAudit = n
}

// Pick is the fault that hits a call, or nil; callers hold the lock.
func (f *Faults) Pick(r call.Request) *Fault {
	for i, x := range f.on {
		if x.Route != "" && x.Route != r.Route || x.Match != nil && !x.Match(r) {
			continue
		}
		if x.Rate > 0 && !f.discord.Chance(x.Rate) {
			continue
		}
		if x.Times > 0 {
			if x.Times--; x.Times == 0 {
				f.on = slices.Delete(f.on, i, i+1)
			}
		}
		f.injected++
		copied := *x
		return &copied
	}
	return f.spurious(r)
}

// spurious is what hits a call of a bot for no reason (Options.Weakness), or nil.
func (f *Faults) spurious(r call.Request) *Fault {
	hits := func(rate float64) bool { return rate > 0 && f.discord.Chance(rate) }
	w, x := f.discord.Weakness, &Fault{}
	switch {
	case r.BotID == "":
		return nil
	case hits(w.Unauthorized):
		x.Status, x.Body = http.StatusUnauthorized, `{"message": "401: Unauthorized", "code": 0}`
	case hits(w.Forbidden):
		x.Status, x.Body = http.StatusForbidden, `{"message": "Missing Access", "code": 50001}`
	case hits(w.ServerErrors):
		// 500 and 504 may come after the effect, 502 and 503 come without one.
		x.Effect = f.discord.Chance(0.25)
		x.Status = http.StatusBadGateway
		if x.Effect || f.discord.Chance(0.5) {
			x.Status = http.StatusInternalServerError
		}
		x.Body = `{"message": "` + strconv.Itoa(x.Status) + ": " + http.StatusText(x.Status) + `", "code": 0}`
	default:
		return nil
	}
	f.injected++
	return x
}

// Release lets held answers go, for good.
func (f *Faults) Release() {
	f.discord.Lock()
	defer f.discord.Unlock()
	select {
	case <-f.released:
	default:
		close(f.released)
	}
}
