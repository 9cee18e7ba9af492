// SPDX-License-Identifier: Apache-2.0

// Package pending orders the Gateway events of one object and the responses to own writes. Neither
// has a version, and only events arrive in order. The event of an own write is dropped if a later
// own write already has its response. The response to an own write is dropped if its event came
// first, because further events may have come since.
package pending

import (
	"reflect"
	"slices"
	"time"
)

// Life is the longest wait for an own write's event. Discord may send no event, or several.
const Life = 30 * time.Second

// Writes records the own writes to one object that still wait for their response or event.
type Writes struct {
	inFlight int     // writes without a response
	events   []any   // states in the events that came during a write
	states   []state // states of own writes with an outstanding event, in the order of the responses
}

type state struct {
	value any
	until time.Time
}

// Begin records the start of an own write.
func (p *Writes) Begin() { p.inFlight++ }

// End records the state in a response and reports whether to apply the state to the view. The value
// is nil if the write failed or deleted the object.
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

// Event records the state in an event and reports whether to apply it to the view.
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

// Idle reports whether no own write waits for its response or event.
func (p *Writes) Idle(now time.Time) bool {
	p.expire(now)
	return p.inFlight == 0 && len(p.states) == 0
}
