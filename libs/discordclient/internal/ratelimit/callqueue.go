// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"slices"
	"time"
)

// reservation is short, because a notified caller may never come: its object may be deleted.
const reservation = time.Second

// callQueue has the callers that wait for the global limit or for their tenant's half of it.
// Without it, n callers would make n*n attempts. Start-time fair queueing makes it fair to tenants:
// the lowest tag is served first. The tag of a new place is its number of calls, plus the higher of
// the tenant's last tag in the queue and the highest tag served.
type callQueue struct {
	places []place // ordered by tag
	served int     // the highest tag that was notified or served
}

type place struct {
	Call
	tag int
	due time.Time // start of the reservation; an estimate while the caller is not yet notified
}

func (p place) remaining(now time.Time) time.Duration { return reservation - now.Sub(p.due) }

func (q *callQueue) removeExpired(now time.Time) {
	q.places = slices.DeleteFunc(q.places, func(p place) bool { return p.NotifyReady == nil && p.remaining(now) <= 0 })
}

// ahead returns the places before the place that c has or would get.
func (q *callQueue) ahead(c Call) []place {
	i := q.find(c)
	if i < 0 && c.Urgent {
		i = slices.IndexFunc(q.places, func(p place) bool { return p.Tenant == c.Tenant && !p.Urgent })
	}
	if i < 0 {
		i = q.index(q.nextTag(c))
	}
	return q.places[:i]
}

func (q *callQueue) put(c Call, due time.Time) {
	p := place{Call: c, due: due}
	i := q.find(c)
	if i >= 0 {
		p.tag = q.places[i].tag
		q.places[i] = p
		return
	}
	p.tag = q.nextTag(c)
	i = q.index(p.tag)
	q.places = slices.Insert(q.places, i, p)
	if c.Urgent {
		q.overtake(i)
	}
}

// overtake moves the urgent caller i before its tenant's callers that are not urgent.
func (q *callQueue) overtake(i int) {
	for j := i - 1; j >= 0; j-- {
		a, b := &q.places[i], &q.places[j]
		if a.Tenant != b.Tenant {
			continue
		}
		if b.Urgent {
			return
		}
		*a, *b = *b, *a
		a.tag, b.tag = b.tag, a.tag
		i = j
	}
}

// serve removes a caller from the queue, because its call begins. If the caller has announced more
// calls (c.More), serve reserves the first place for it.
func (q *callQueue) serve(c Call, now time.Time) {
	if i := q.find(c); i >= 0 {
		q.served = max(q.served, q.places[i].tag)
		q.places = slices.Delete(q.places, i, i+1)
	}
	if c.More > 0 {
		c.More, c.NotifyReady = c.More-1, nil
		q.places = slices.Insert(q.places, 0, place{Call: c, due: now})
	}
}

// notifyReady notifies the callers that need not wait. next is the time until notifyReady must run
// again; 0 if no caller waits.
func (q *callQueue) notifyReady(now time.Time, wait func(Call) time.Duration) (next time.Duration) {
	q.removeExpired(now)
	next = reservation
	waiting := false
	for i := range q.places {
		p := &q.places[i]
		after := wait(p.Call)
		switch {
		case p.NotifyReady == nil:
			next = min(next, p.remaining(now))
		case after > 0:
			next, waiting = min(next, after), true
		default:
			go p.NotifyReady()
			p.NotifyReady, p.due, q.served = nil, now, max(q.served, p.tag)
		}
	}
	if !waiting {
		return 0
	}
	return next
}

func (q *callQueue) find(c Call) int {
	return slices.IndexFunc(q.places, func(p place) bool { return p.Caller == c.Caller && p.Tenant == c.Tenant })
}

func (q *callQueue) nextTag(c Call) int {
	tag := q.served
	for _, p := range q.places {
		if p.Tenant == c.Tenant {
			tag = max(tag, p.tag)
		}
	}
	return tag + c.calls()
}

func (q *callQueue) index(tag int) int {
	i, _ := slices.BinarySearchFunc(q.places, tag+1, func(p place, tag int) int { return p.tag - tag })
	return i
}
