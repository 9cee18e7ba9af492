// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"math"
	"time"
)

// route has the bucket of all calls with one method and path template.
type route struct {
	known   bool
	name    string    // of the bucket; empty for none
	probing time.Time // when the call that will show it was let through; zero for none
}

func (l *Limiter) route(c Call) *route {
	r := l.routes[c.Route]
	if r == nil {
		r = &route{}
		l.routes[c.Route] = r
	}
	return r
}

// routeWait returns the bucket of a call (nil for none or an unknown one), or its wait for that.
func (l *Limiter) routeWait(r *route, c Call, now time.Time) (*bucket, *Wait) {
	if !r.known && now.Sub(r.probing) < probeExpiry {
		return nil, &Wait{probePause, ScopeUnknown}
	}
	if !r.known || r.name == "" {
		return nil, nil
	}
	b := l.bucket(bucketKey{r.name, c.Major}, now)
	return b, b.wait(c, l.kinds[r.name], now)
}

// block closes a route without a bucket for one major parameter. It makes up a bucket for that.
func (l *Limiter) block(c Call, until time.Time, scope string) {
	r := l.routes[c.Route]
	if r.name == "" {
		r.name = "route:" + c.Route
		l.kinds[r.name] = &kind{limit: math.MaxInt32}
	}
	b := l.bucket(bucketKey{r.name, c.Major}, l.now())
	b.blocked, b.scope = until, scope
}
