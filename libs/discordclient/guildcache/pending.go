package guildcache

import (
	"reflect"
	"slices"
	"time"
)

// pendingLife is how long the event of an own write is waited for. Discord promises events 0 to N times.
const pendingLife = 30 * time.Second

// pendingWrites brings the answers of own writes to one object and the events about it into one order. Discord gives
// neither a version, and the two come on different ways: an answer can be older than an event that came before it, and
// an event can be older than an answer. Events among themselves come in order. So:
//   - the event that equals an own write but the last one is older than that and is dropped;
//   - an answer whose event already came is not applied: what came after that event is newer.
type pendingWrites struct {
	inFlight int            // own writes under way
	events   []any          // states of events that came while one was under way
	states   []pendingState // states of own writes whose events are still to come, in the order of the answers
}

type pendingState struct {
	state any
	until time.Time
}

// begin records that an own write goes out.
func (p *pendingWrites) begin() { p.inFlight++ }

// end records its result, nil for a failure, and reports whether to apply it.
func (p *pendingWrites) end(state any, now time.Time) bool {
	p.inFlight--
	came := state != nil && slices.ContainsFunc(p.events, func(s any) bool { return reflect.DeepEqual(s, state) })
	if p.inFlight == 0 {
		p.events = nil
	}
	if state == nil || came {
		return false
	}
	p.expire(now)
	p.states = append(p.states, pendingState{state, now.Add(pendingLife)})
	return true
}

// event records the state that an event brought and reports whether to apply it.
func (p *pendingWrites) event(state any, now time.Time) bool {
	p.expire(now)
	if p.inFlight > 0 && len(p.events) < 64 {
		p.events = append(p.events, state)
	}
	for i, own := range p.states {
		if reflect.DeepEqual(own.state, state) {
			last := i == len(p.states)-1
			p.states = p.states[i+1:]
			return last
		}
	}
	return true
}

func (p *pendingWrites) expire(now time.Time) {
	for len(p.states) > 0 && now.After(p.states[0].until) {
		p.states = p.states[1:]
	}
}

func (p *pendingWrites) idle(now time.Time) bool {
	p.expire(now)
	return p.inFlight == 0 && len(p.states) == 0
}
