// SPDX-License-Identifier: Apache-2.0

package ratelimit

import "time"

const globalWindow = time.Second

// budget bounds the calls per second; edits counts only calls that are not urgent.
type budget struct{ all, edits window }

// newBudget leaves the last fifth to urgent calls.
func newBudget(perSecond int) *budget {
	return &budget{newWindow(perSecond), newWindow(perSecond - perSecond/5)}
}

type demand struct{ all, edits int }

// wait returns a caller's wait behind the calls in ahead, and adds its calls to ahead.
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

// window is a sliding window, at least as strict as any fixed window. A call stays in it until a
// second after its answer, because Discord counts the call at an unknown time before the answer.
type window struct {
	underWay int
	ended    []time.Time // end times of the last calls, as many as the window allows; the oldest is at index next
	next     int
	took     time.Duration // duration of a call: a moving average
}

func newWindow(size int) window { return window{ended: make([]time.Time, size)} }

// wait returns a caller's wait behind the calls in ahead, and adds its calls to ahead. A caller
// with more calls than the window allows waits for an empty window.
func (w *window) wait(now time.Time, ahead *int, calls int) time.Duration {
	size := len(w.ended)
	*ahead += min(calls, size)
	taken := w.underWay + *ahead - 1
	free := w.ended[(w.next+taken)%size].Add(globalWindow)
	if free.Before(now) {
		free = now
	}
	// The calls ahead may fill the window several times.
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
