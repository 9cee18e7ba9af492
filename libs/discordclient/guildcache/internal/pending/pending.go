// SPDX-License-Identifier: Apache-2.0

// Package pending orders own writes and events about the same object. Discord gives neither a
// version, and the two come on different ways: an answer can be older than an event that came
// before it, and an event can be older than an answer. Events among themselves come in order. So:
//   - the event that equals an own write but the last one is older than that and is dropped;
//   - an answer whose event already came is not applied: what came after that event is newer.
package pending

import (
	"reflect"
	"slices"
	"time"
)

// Life is how long the event of an own write is waited for. Discord promises events 0 to N times.
const Life = 30 * time.Second

// Writes are the own writes to one object whose answers or events are still to come.
type Writes struct {
	inFlight int     // own writes under way
	events   []any   // states of events that came while one was under way
	states   []state // states of own writes whose events are still to come, in the order of the answers
}

type state struct {
	value any
	until time.Time
}

// Begin records that an own write goes out.
func (p *Writes) Begin() { p.inFlight++ }

// End records its result, nil for a failure, and reports whether to apply it.
func (p *Writes) End(value any, now time.Time) bool {
	p.inFlight--
	came := value != nil && slices.ContainsFunc(p.events, func(v any) bool { return reflect.DeepEqual(v, value) })
	if p.inFlight == 0 {
		p.events = nil
	}
	if value == nil || came {
		return false
	}
	p.expire(now)
	p.states = append(p.states, state{value, now.Add(Life)})
	return true
}

// Event records the state that an event brought and reports whether to apply it.
func (p *Writes) Event(value any, now time.Time) bool {
	p.expire(now)
	if p.inFlight > 0 && len(p.events) < 64 {
		p.events = append(p.events, value)
	}
	for i, own := range p.states {
		if reflect.DeepEqual(own.value, value) {
			last := i == len(p.states)-1
			p.states = p.states[i+1:]
			return last
		}
	}
	return true
}

func (p *Writes) expire(now time.Time) {
	for len(p.states) > 0 && now.After(p.states[0].until) {
		p.states = p.states[1:]
	}
}

// Idle reports whether nothing is expected any more.
func (p *Writes) Idle(now time.Time) bool {
	p.expire(now)
	return p.inFlight == 0 && len(p.states) == 0
}
