// SPDX-License-Identifier: Apache-2.0

// Package faults makes REST calls fail. The faults of the Gateway are in gateway/faults.go.
package faults

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Fault selects REST calls and changes them with its Action.
type Fault struct {
	// Route is "METHOD /template" (see Routes). An empty Route matches all calls.
	Route string
	// Match selects calls; nil selects all. Match must not call the simulator, which is locked.
	Match func(call.Request) bool
	// Times is the number of calls that the fault hits; 0 means no limit.
	Times int
	// Rate is the probability, from 0 to 1, that the fault hits a call; 0 means always.
	Rate float64
	Action
}

// Action is the effect of a fault. Functions such as discordtest.FailBefore return actions.
type Action struct {
	// Effect executes the call before the response. Without Effect, only Late executes it.
	Effect bool
	// Before delays the execution, After delays the response, both on the simulator's clock.
	Before, After time.Duration
	// Late, if not 0, delays the execution by the time Late, but not the response.
	Late time.Duration
	// Hold, if not nil, delays the response until Hold is closed.
	Hold <-chan struct{}
	// Status, Body and Header replace the call's own response, unless Status is 0, or Status is a
	// success and the executed call failed.
	Status int
	Body   string
	Header http.Header
	// Drop closes the connection after Cut bytes of the response; Cut < 0 counts from the end.
	Drop bool
	Cut  int
}

// Faults is the set of active faults.
type Faults struct {
	discord  *model.Discord
	on       []*Fault
	injected int
	released chan struct{} // closed to end all waits
}

// New returns an empty set of faults.
func New(d *model.Discord) *Faults { return &Faults{discord: d, released: make(chan struct{})} }

// Add activates a fault, and remove deactivates it. The oldest fault that matches a call, and whose
// Rate selects the call, hits it.
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

// Clear deactivates the faults that Add activated, and ends LoseAudit. It does not end Weakness,
// the faults of the Gateway, or the delays of calls that a fault has already hit.
func (f *Faults) Clear() {
	f.discord.Lock()
	defer f.discord.Unlock()
	f.on, f.discord.LoseAudit = nil, 0
}

// Injected returns the number of calls that faults or the error rates of Weakness have hit.
func (f *Faults) Injected() int {
	f.discord.Lock()
	defer f.discord.Unlock()
	return f.injected
}

// LoseAudit hides the next n audit log entries for good, or all future entries if n is negative.
// Discord may lose entries too.
func (f *Faults) LoseAudit(n int) {
	f.discord.Lock()
	defer f.discord.Unlock()
	f.discord.LoseAudit = n
}

// Pick returns the fault that hits the call, or nil. Callers must lock model.Discord.
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
		// A call that gets 500 may have been executed, a call that gets 502 has not.
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

// Release ends all current and future waits of faults, so that the server can close.
func (f *Faults) Release() {
	f.discord.Lock()
	defer f.discord.Unlock()
	select {
	case <-f.released:
	default:
		close(f.released)
	}
}
