// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"slices"
	"time"
)

// patience is how long a place is kept for a caller that does not come when it may: its object may be
// gone, or all workers busy.
const patience = time.Second

// line is who waits for the global limit, in the order in which they came. A caller keeps its place
// until it comes back: were all to come at the time at which the next call is free, all but one would
// come in vain, and n callers would make n*n attempts.
type line struct {
	places []place
}

// place is that of one caller.
type place struct {
	caller string
	urgent bool
	calls  int       // that it is about to make
	due    time.Time // when it may make them: an estimate, until it is called
	turn   func()    // calls it, nil once it has been called, or where it cannot be
}

// left is for how long the place of a caller is kept that should come now.
func (p place) left(now time.Time) time.Duration { return patience - now.Sub(p.due) }

// forget takes out those who should have come by now. Who can be called is waited for from then on.
func (n *line) forget(now time.Time) {
	n.places = slices.DeleteFunc(n.places, func(p place) bool { return p.turn == nil && p.left(now) <= 0 })
}

// before is how many calls those before a caller are about to make. The urgent do not wait for the
// others.
func (n *line) before(c Call, now time.Time) (calls int) {
	n.forget(now)
	for _, p := range n.places {
		if p.caller == c.Caller {
			break
		}
		if p.urgent || !c.Urgent {
			calls += p.calls
		}
	}
	return calls
}

// queue gives a caller a place at the end, unless it has one, until a while after it is due.
func (n *line) queue(c Call, due time.Time) {
	p := place{caller: c.Caller, urgent: c.Urgent, calls: 1 + c.More, due: due, turn: c.Turn}
	if i := n.find(c); i >= 0 {
		n.places[i] = p
	} else {
		n.places = append(n.places, p)
	}
}

// served takes a caller out of the line, or keeps a place at its head for the calls that follow.
func (n *line) served(c Call, now time.Time) {
	if i := n.find(c); i >= 0 {
		n.places = slices.Delete(n.places, i, i+1)
	}
	if c.More > 0 {
		n.places = slices.Insert(n.places, 0, place{caller: c.Caller, urgent: c.Urgent, calls: c.More, due: now})
	}
}

// call returns what calls those whose turn has come, and when to ask for the next; 0 where nobody is left to
// be called. wait is how long until a call may be made, urgent or not, that leaves so many others to make.
func (n *line) call(
	now time.Time, wait func(urgent bool, others int) time.Duration,
) (turns []func(), next time.Duration) {
	n.forget(now)
	before := map[bool]int{}         // calls of those in front, of the urgent and of others
	held := map[bool]time.Duration{} // how long the next of both has to wait
	again := patience                // when a place may be free of which the caller has not come
	for i := range n.places {
		p := &n.places[i]
		others := before[true] + p.calls - 1
		if !p.urgent {
			others += before[false]
		}
		before[p.urgent] += p.calls
		switch left := wait(p.urgent, others); {
		case p.turn == nil:
			again = min(again, p.left(now))
		case held[p.urgent] > 0: // who came earlier goes first
		case left > 0:
			held[p.urgent] = left
		default:
			turns, p.turn, p.due = append(turns, p.turn), nil, now
		}
	}
	if len(held) == 0 {
		return turns, 0
	}
	for _, left := range held {
		again = min(again, left)
	}
	return turns, again
}

func (n *line) find(c Call) int {
	return slices.IndexFunc(n.places, func(p place) bool { return p.caller == c.Caller })
}
