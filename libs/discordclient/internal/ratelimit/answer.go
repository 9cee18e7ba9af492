// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Answer has the rate limits that an HTTP answer reports. Make it with [ParseHeader].
type Answer struct {
	Bucket     string
	Limit      int
	Remaining  int
	Reset      float64       // when the window ends, seconds since 1970 by Discord's clock
	ResetAfter time.Duration // time until Reset
	Refused    *Refusal      // set for a 429
	Foreign    bool          // whether the answer is from a proxy or a failed server, and so shows nothing about buckets
}

// Refusal is the part of an Answer that only a 429 has.
type Refusal struct {
	After time.Duration
	Scope string // user, shared, global or blocked
}

// ParseHeader reads the headers of an answer. Missing and malformed values are zero.
func ParseHeader(h http.Header) Answer {
	limit, _ := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	remaining, _ := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, _ := strconv.ParseFloat(h.Get("X-RateLimit-Reset"), 64)
	return Answer{
		Bucket: h.Get("X-RateLimit-Bucket"), Limit: limit, Remaining: remaining,
		Reset: reset, ResetAfter: Seconds(h.Get("X-RateLimit-Reset-After")),
	}
}

// Seconds parses seconds, at most a day: a server's mistake must not stop the caller for ever.
func Seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(min(f, 24*60*60)*1000)) * time.Millisecond
}

// A 429 with a wait beyond the bucket's reset plus hiddenSlack is for a limit without headers.
const hiddenSlack = time.Second

// Done ends the call of a ticket. A call without an answer (nil) counts too, because Discord may
// have counted it.
func (l *Limiter) Done(t Ticket, answer *Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.whole.end(t.call, t.began, now)
	if t.share != nil {
		t.share.end(t.call, t.began, now)
	}
	defer l.notifyReady(now)
	if b := l.buckets[t.key]; b != nil && t.key.name != "" {
		b.inFlight--
		if answer == nil {
			b.lost = append(b.lost, now.Add(max(l.kinds[t.key.name].length, globalWindow)))
		}
	}
	r := l.routes[t.call.Route]
	if t.probe {
		r.probing = time.Time{}
	}
	if answer == nil {
		return
	}
	if answer.Bucket != "" && answer.Limit > 0 {
		r.known, r.name = true, answer.Bucket
		l.count(t.call, answer, now)
	} else if answer.Refused == nil && !answer.Foreign {
		r.known = true // the route has no bucket, until an answer names one
	}
	if answer.Refused != nil {
		l.refuse(t.call, answer, now)
	}
}

func (l *Limiter) count(c Call, a *Answer, now time.Time) {
	k := l.kinds[a.Bucket]
	if k == nil {
		k = &kind{}
		l.kinds[a.Bucket] = k
	}
	k.limit, k.length = a.Limit, max(k.length, a.ResetAfter)
	k.urgent = k.urgent || c.Urgent
	b := l.bucket(bucketKey{a.Bucket, c.Major}, now)
	switch sameWindow := math.Abs(a.Reset-b.window) < 0.05; {
	case sameWindow && b.window != 0:
		b.lowest = min(b.lowest, a.Remaining)
	case a.Reset > b.window || a.Reset == 0:
		b.lowest, b.window = a.Remaining, a.Reset
		b.reset = now.Add(a.ResetAfter)
	}
}

func (l *Limiter) refuse(c Call, a *Answer, now time.Time) {
	until := now.Add(a.Refused.After)
	switch {
	case a.Refused.Scope == ScopeBlocked:
		if until.After(l.blocked) {
			l.blocked = until
		}
	case a.Refused.Scope == ScopeGlobal:
		if until.After(l.held) {
			l.held = until
		}
	case c.Hidden != "" && a.Refused.After > a.ResetAfter+hiddenSlack:
		l.hidden[hiddenKey{c.Hidden, c.Major}] = until
	case a.Bucket != "" && a.Limit > 0:
		b := l.buckets[bucketKey{a.Bucket, c.Major}]
		b.blocked, b.scope = until, a.Refused.Scope
	default: // the answer names no bucket
		l.routes[c.Route].known = true
		l.block(c, until, a.Refused.Scope)
	}
}
