// SPDX-License-Identifier: Apache-2.0

// Package faults makes REST calls fail: a Fault selects calls for an Action; deliver.go delays,
// cuts or drops the response. gateway/faults.go has the Gateway's faults.
package faults

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Fault selects REST calls for an Action.
type Fault struct {
	// Route is "METHOD /template" (see Routes). Empty matches all.
	Route string
	// Match selects among the calls of the route. nil matches all of them. Match runs under the
	// simulator's lock, so it must not call the simulator's methods.
	Match func(call.Request) bool
	// Times is the number of calls that the fault hits. 0 means no limit.
	Times int
	// Rate is the probability, 0 to 1; 0 means 1.
	Rate float64
	Action
}

// Action is the effect of a fault; see the functions of package discordtest.
type Action struct {
	// Effect reports whether the call is executed.
	Effect bool
	// Before and After are waits around the effect, on the simulator's clock.
	Before, After time.Duration
	// Late, if not 0, executes the call only after the
	// response, by this time on the simulator's clock.
	Late time.Duration
	// Hold, if not nil, delays the response after the effect until Hold is closed.
	Hold <-chan struct{}
	// Status, if not 0, replaces the response together with Body
	// and Header. With Effect, a success does not replace an error.
	Status int
	Body   string
	Header http.Header
	// Drop closes the connection instead of answering. With Cut, it first sends that many bytes of
	// the response, headers included. A negative Cut leaves out that many bytes at the end.
	Drop bool
	Cut  int
}

// Faults are the active faults.
type Faults struct {
	discord  *model.Discord
	on       []*Fault
	injected int
	released chan struct{} // closed to release held responses
}

// New returns an empty set.
func New(d *model.Discord) *Faults { return &Faults{discord: d, released: make(chan struct{})} }

// Add activates a fault. remove deactivates it. The first fault that matches a call hits it.
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

// Clear deactivates all faults of REST calls.
func (f *Faults) Clear() {
	f.discord.Lock()
	defer f.discord.Unlock()
	f.on, f.discord.LoseAudit = nil, 0
}

// Injected counts the calls that a fault has hit.
func (f *Faults) Injected() int {
	f.discord.Lock()
	defer f.discord.Unlock()
	return f.injected
}

// LoseAudit makes the next n actions (negative: all) leave no audit log entry, as Discord may.
func (f *Faults) LoseAudit(n int) {
	f.discord.Lock()
	defer f.discord.Unlock()
	f.discord.LoseAudit = n
}

// Pick returns the fault that hits a call, or nil. The caller holds the lock.
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

// spurious returns a random fault for a bot's call (Options.Weakness), or nil.
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
		// 500 and 504 may follow the effect. 502 and 503 mean that there was none.
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

// Release releases held responses, now and in future.
func (f *Faults) Release() {
	f.discord.Lock()
	defer f.discord.Unlock()
	select {
	case <-f.released:
	default:
		close(f.released)
	}
}
