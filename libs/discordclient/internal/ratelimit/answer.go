// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Answer is what an HTTP answer says about rate limits. Make it with [ParseHeader].
type Answer struct {
	Bucket     string
	Limit      int
	Remaining  int
	Reset      float64       // when the window ends, seconds since 1970 by Discord's clock
	ResetAfter time.Duration // the same from now
	Refused    *Refusal      // set for a 429
	Foreign    bool          // a proxy's, or of a server that has failed: it says nothing about buckets
}

// Refusal is the part of a 429 that is not in the headers of every answer.
type Refusal struct {
	After time.Duration
	Scope string // user, shared, global or blocked
}

// ParseHeader reads the headers of an answer. What is missing or malformed is left zero.
func ParseHeader(h http.Header) Answer {
	limit, _ := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	remaining, _ := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, _ := strconv.ParseFloat(h.Get("X-RateLimit-Reset"), 64)
	return Answer{
		Bucket: h.Get("X-RateLimit-Bucket"), Limit: limit, Remaining: remaining,
		Reset: reset, ResetAfter: Seconds(h.Get("X-RateLimit-Reset-After")),
	}
}

// Seconds reads a number of seconds, fractional or not, as headers carry it, rounded up to the
// millisecond; 0 for what is no number, at most a day (a longer one would be a mistake that stops
// the caller for ever).
func Seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(min(f, 24*60*60)*1000)) * time.Millisecond
}

// hiddenSlack is how much longer than the bucket's own reset a wait must be to come from a limit
// that no header shows.
const hiddenSlack = time.Second

// Done gives a ticket back. answer is nil when none came: the call may or may not have been
// counted.
func (l *Limiter) Done(t Ticket, answer *Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.global.end(t.began, now)
	defer func() { l.call(now) }()
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
		r.known = true // answered without naming a bucket: a route without one, until it names one
	}
	if answer.Refused != nil {
		l.refuse(t.call, answer, now)
	}
}

// count takes over what an answer says about its bucket.
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

// refuse notes a 429 where it belongs: everywhere, at a limit without headers, or at its bucket. A
// call that is not under the global limit is refused on its own account, whatever the scope says.
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
	default: // a 429 that names no bucket: hold this kind of call on this object
		l.routes[c.Route].known = true
		l.block(c, until, a.Refused.Scope)
	}
}

// block closes a route without a bucket for one major parameter, through a bucket made up for it.
func (l *Limiter) block(c Call, until time.Time, scope string) {
	r := l.routes[c.Route]
	if r.name == "" {
		r.name = "route:" + c.Route
		l.kinds[r.name] = &kind{limit: math.MaxInt32}
	}
	b := l.bucket(bucketKey{r.name, c.Major}, l.now())
	b.blocked, b.scope = until, scope
}
