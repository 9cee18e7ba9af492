package discordclient

import (
	"reflect"
	"time"
)

// echoLife is how long the event of an own write is waited for. Discord promises events 0 to N times.
const echoLife = 30 * time.Second

// echo brings the answers of own writes to one object and the events about it into one order. Discord gives neither a
// version, and the two come on different ways: an answer can be older than an event that came before it, and an event
// can be older than an answer. Events among themselves come in order. So:
//   - the event that equals an own write but the last one is old news and is dropped;
//   - an answer whose event already came is not applied: what came after that event is newer.
type echo struct {
	flying  int         // own writes under way
	seen    []any       // states that events told while one was under way
	pending []echoState // states of own writes whose events are still to come, in the order of the answers
}

type echoState struct {
	state any
	until time.Time
}

// begin notes that an own write goes out.
func (e *echo) begin() { e.flying++ }

// end notes its result, nil for a failure, and reports whether to apply it.
func (e *echo) end(state any, now time.Time) bool {
	e.flying--
	seen := false
	for _, s := range e.seen {
		seen = seen || state != nil && reflect.DeepEqual(s, state)
	}
	if e.flying == 0 {
		e.seen = nil
	}
	if state == nil || seen {
		return false
	}
	e.expire(now)
	e.pending = append(e.pending, echoState{state, now.Add(echoLife)})
	return true
}

// event notes what an event told and reports whether to apply it.
func (e *echo) event(state any, now time.Time) bool {
	e.expire(now)
	if e.flying > 0 && len(e.seen) < 64 {
		e.seen = append(e.seen, state)
	}
	for i, p := range e.pending {
		if reflect.DeepEqual(p.state, state) {
			last := i == len(e.pending)-1
			e.pending = e.pending[i+1:]
			return last
		}
	}
	return true
}

func (e *echo) expire(now time.Time) {
	for len(e.pending) > 0 && now.After(e.pending[0].until) {
		e.pending = e.pending[1:]
	}
}

func (e *echo) idle(now time.Time) bool {
	e.expire(now)
	return e.flying == 0 && len(e.pending) == 0
}
