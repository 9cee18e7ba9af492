// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"math"
	"slices"
	"time"
)

type route struct {
	known   bool
	name    string    // name of the bucket; empty if the route has no bucket
	probing time.Time // start of the call whose answer will show the bucket; zero for none
}

func (l *Limiter) route(c Call) *route {
	r := l.routes[c.Route]
	if r == nil {
		r = &route{}
		l.routes[c.Route] = r
	}
	return r
}

// routeWait returns a call's known bucket, and the wait for the bucket or the route's first answer.
func (l *Limiter) routeWait(r *route, c Call, now time.Time) (*bucket, *Wait) {
	if !r.known && now.Sub(r.probing) < probeExpiry {
		return nil, &Wait{probePause, ScopeUnknown}
	}
	if !r.known || r.name == "" {
		return nil, nil
	}
	b := l.bucket(bucketKey{r.name, c.Major}, now)
	wait := b.wait(c, l.kinds[r.name], now)
	return b, wait
}

// block delays the calls of c's route with c's major parameter. If the route has no bucket, it
// makes one.
func (l *Limiter) block(c Call, until time.Time, scope string) {
	r := l.routes[c.Route]
	if r.name == "" {
		r.name = "route:" + c.Route
		l.kinds[r.name] = &kind{limit: math.MaxInt32}
	}
	b := l.bucket(bucketKey{r.name, c.Major}, l.now())
	b.blocked, b.scope = until, scope
}

type bucketKey struct{ name, major string }

type kind struct {
	limit  int
	urgent bool          // whether creates or deletes count in the bucket
	length time.Duration // least length of a window: the longest remaining time that Discord reported
}

// bucket allows the lowest number of remaining calls that Discord reported in this window, less the
// calls that Discord may not have subtracted yet: calls under way and calls without an answer.
type bucket struct {
	lowest   int
	inFlight int
	lost     []time.Time // for each call without an answer, a time at which its window has surely ended; oldest first
	reset    time.Time   // end of the window; zero until an answer reports it
	window   float64     // X-RateLimit-Reset, which identifies the window
	blocked  time.Time
	scope    string
}

func (l *Limiter) bucket(key bucketKey, now time.Time) *bucket {
	b := l.buckets[key]
	if b == nil {
		b = &bucket{lowest: l.kinds[key.name].limit}
		l.buckets[key] = b
	}
	b.lost = slices.DeleteFunc(b.lost, func(t time.Time) bool { return !now.Before(t) })
	if !b.reset.IsZero() && !now.Before(b.reset) {
		b.lowest, b.reset, b.window = l.kinds[key.name].limit, time.Time{}, 0
	}
	return b
}

func (b *bucket) wait(c Call, k *kind, now time.Time) *Wait {
	if now.Before(b.blocked) {
		return &Wait{b.blocked.Sub(now), b.scope}
	}
	keep := 0
	if !c.Urgent && k.urgent && k.limit > 2 {
		keep = 1
	}
	switch {
	case b.lowest-b.inFlight-len(b.lost) > keep:
		return nil
	case !b.reset.IsZero():
		return &Wait{b.reset.Sub(now), ScopeUser}
	case b.inFlight == 0 && len(b.lost) > 0:
		return &Wait{b.lost[0].Sub(now), ScopeUser}
	}
	return &Wait{probePause, ScopeUser} // all allowed calls are under way; the next answer shows more
}

func (b *bucket) idle(now time.Time) bool {
	return b.inFlight == 0 && len(b.lost) == 0 && !now.Before(b.reset) && !now.Before(b.blocked)
}
