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
	due    time.Time // when it may make them
}

// before is how many calls those before a caller are about to make. The urgent do not wait for the
// others.
func (n *line) before(c Call, now time.Time) (calls int) {
	n.places = slices.DeleteFunc(n.places, func(p place) bool { return now.Sub(p.due) > patience })
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
	p := place{caller: c.Caller, urgent: c.Urgent, calls: 1 + c.More, due: due}
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

func (n *line) find(c Call) int {
	return slices.IndexFunc(n.places, func(p place) bool { return p.caller == c.Caller })
}
