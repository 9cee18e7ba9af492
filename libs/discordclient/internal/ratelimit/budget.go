// SPDX-License-Identifier: Apache-2.0

package ratelimit

import "time"

const globalWindow = time.Second

// budget bounds the calls per second, and among them the calls that are not urgent.
type budget struct{ all, edits window }

// newBudget returns a budget of 1 or more calls, a fifth of them for urgent calls alone.
func newBudget(perSecond int) *budget {
	return &budget{newWindow(perSecond), newWindow(perSecond - perSecond/5)}
}

// demand counts calls that are to be made.
type demand struct{ all, edits int }

// wait returns how long a caller has to wait behind the calls ahead, to which it adds its own. Edits
// that wait for their part hold up no urgent call.
func (b *budget) wait(c Call, ahead *demand, now time.Time) time.Duration {
	if !c.Urgent {
		if after := b.edits.wait(now, &ahead.edits, c.calls()); after > 0 {
			return after
		}
	}
	return b.all.wait(now, &ahead.all, c.calls())
}

func (b *budget) begin(c Call) {
	b.all.underWay++
	if !c.Urgent {
		b.edits.underWay++
	}
}

func (b *budget) end(c Call, began, now time.Time) {
	b.all.end(began, now)
	if !c.Urgent {
		b.edits.end(began, now)
	}
}

func (b *budget) size() int { return len(b.all.ended) }

func (b *budget) idle(now time.Time) bool { return b.all.free(now) == b.size() }

// window is a sliding window, which is at least as strict as any fixed one. A call stays in it until
// a second after its answer, because Discord counts it at an unknown moment before.
type window struct {
	underWay int
	ended    []time.Time // when the last calls ended, as many as the window allows; the oldest is at next
	next     int
	took     time.Duration // duration of a call: a moving average
}

func newWindow(size int) window { return window{ended: make([]time.Time, size)} }

// wait is as [budget.wait]. More calls than the window allows wait for an empty window.
func (w *window) wait(now time.Time, ahead *int, calls int) time.Duration {
	size := len(w.ended)
	*ahead += min(calls, size)
	taken := w.underWay + *ahead - 1
	free := w.ended[(w.next+taken)%size].Add(globalWindow)
	if free.Before(now) {
		free = now
	}
	// A call beyond the window is free a round after the one in its place, and so on.
	return free.Add(time.Duration(taken/size) * (globalWindow + w.took)).Sub(now)
}

func (w *window) end(began, now time.Time) {
	w.underWay--
	w.ended[w.next] = now
	w.next = (w.next + 1) % len(w.ended)
	w.took += (now.Sub(began) - w.took) / 8
}

func (w *window) free(now time.Time) int {
	n := -w.underWay
	for _, t := range w.ended {
		if now.Sub(t) >= globalWindow {
			n++
		}
	}
	return n
}
