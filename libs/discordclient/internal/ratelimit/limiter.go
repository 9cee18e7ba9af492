// SPDX-License-Identifier: Apache-2.0

// Package ratelimit returns at once how long a call must wait for Discord's rate limits, without
// I/O. It knows the buckets of routes, the global limit of 50 calls per second, and limits that
// only a 429 reveals, such as two changes of a channel's name or topic in ten minutes. Source:
// https://discord.com/developers/docs/topics/rate-limits.
package ratelimit

import (
	"maps"
	"sync"
	"time"
)

// Scopes of a wait. Discord defines the first three.
const (
	ScopeUser    = "user"    // this bot used up the bucket
	ScopeShared  = "shared"  // all bots together used up the resource's limit
	ScopeGlobal  = "global"  // this bot makes too many calls of all kinds
	ScopeTenant  = "tenant"  // this tenant used up its half of the global limit
	ScopeHidden  = "hidden"  // a limit that no header announces, such as for name and topic
	ScopeUnknown = "unknown" // the limits of a route are not known yet and its first call is under way
	ScopeBlocked = "blocked" // refused by a proxy in front of Discord's API, or too many refusals
)

const (
	probePause  = 100 * time.Millisecond // wait before the next attempt while an answer is outstanding
	probeExpiry = time.Second            // longest wait for a route's first call, which may hang
	pruneEvery  = 1024
)

// Call describes a call to the limiter.
type Call struct {
	Route       string // method and path template
	Major       string // major parameter: the id of the guild, channel or webhook
	Urgent      bool   // a create or a delete
	Hidden      string // kind of change that has a limit of its own, such as "name-topic"; empty for none
	Tenant      string // user of the bot, such as a namespace; empty for the bot's own calls
	Limited     bool   // whether the tenant may use only half of the global limit
	Caller      string // id of the caller in the call queue, unique within the tenant
	More        int    // number of calls that the caller will make right after this one
	NotifyReady func() // called once, without a lock, when the caller may make its calls; nil for never
}

func (c Call) calls() int { return 1 + c.More }

// Wait is the time until a call may be made, and the scope of the limit that delays the call.
type Wait struct {
	After time.Duration
	Scope string
}

// Limiter applies the rate limits to the calls of one bot. It is safe for concurrent use.
type Limiter struct {
	mu     sync.Mutex
	now    func() time.Time
	whole  *budget
	shares map[string]*budget // keyed by tenant: the halves of limited tenants with calls under way or in the last second
	unused *budget            // stands for each limited tenant that is not in shares; never changed
	queue  callQueue
	timer  *time.Timer // runs notifyReady; nil until the timer is first needed

	blocked    time.Time // no call before this time
	held       time.Time // no call before this time: Discord's global limit
	routes     map[string]*route
	kinds      map[string]*kind
	buckets    map[bucketKey]*bucket
	hidden     map[hiddenKey]time.Time
	sincePrune int
}

type hiddenKey struct{ kind, major string }

// New makes a limiter. perSecond is the global limit (Discord: 50).
func New(perSecond int, now func() time.Time) *Limiter {
	return &Limiter{
		now: now, whole: newBudget(perSecond), shares: map[string]*budget{}, unused: newBudget(max(perSecond/2, 1)),
		routes: map[string]*route{}, kinds: map[string]*kind{},
		buckets: map[bucketKey]*bucket{}, hidden: map[hiddenKey]time.Time{},
	}
}

// Ticket is the right to make one call. The caller must give it back with [Limiter.Done].
type Ticket struct {
	call  Call
	probe bool
	key   bucketKey
	share *budget // nil unless the tenant is limited
	began time.Time
}

// Reserve returns the right to make the call now, or the time to wait.
func (l *Limiter) Reserve(c Call) (Ticket, *Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.prune(now)
	r, b, wait := l.check(c, now)
	if wait != nil {
		return Ticket{}, wait
	}
	t := Ticket{call: c, probe: !r.known, began: now}
	l.whole.begin(c)
	if c.Limited {
		t.share = l.claimShare(c.Tenant, now)
		t.share.begin(c)
	}
	l.queue.serve(c, now)
	if t.probe {
		r.probing = now
	}
	if b != nil {
		t.key = bucketKey{r.name, c.Major}
		b.inFlight++
	}
	return t, nil
}

// Peek returns the Wait of Reserve without reserving. Like Reserve, it queues a caller that the
// global limit or its tenant's half delays.
func (l *Limiter) Peek(c Call) *Wait {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, wait := l.check(c, l.now())
	return wait
}

// check returns a call's route, its bucket (nil if unknown) and its wait (nil for none).
func (l *Limiter) check(c Call, now time.Time) (*route, *bucket, *Wait) {
	if now.Before(l.held) && l.held.After(l.blocked) {
		if c.NotifyReady != nil {
			l.queue.put(c, l.held)
			l.notifyReady(now)
		}
		return nil, nil, &Wait{l.held.Sub(now), ScopeGlobal}
	}
	if now.Before(l.blocked) {
		return nil, nil, &Wait{l.blocked.Sub(now), ScopeBlocked}
	}
	if until := l.hidden[hiddenKey{c.Hidden, c.Major}]; c.Hidden != "" && now.Before(until) {
		return nil, nil, &Wait{until.Sub(now), ScopeHidden}
	}
	r := l.route(c)
	b, wait := l.routeWait(r, c, now)
	if wait != nil {
		return nil, nil, wait
	}
	if wait := l.globalWait(c, now); wait != nil {
		return nil, nil, wait
	}
	return r, b, nil
}

// globalWait returns the wait for the global limit and the tenant's half, and queues the caller.
func (l *Limiter) globalWait(c Call, now time.Time) *Wait {
	l.queue.removeExpired(now)
	var ahead demands
	for _, p := range l.queue.ahead(c) {
		l.budgetWait(p.Call, &ahead, now)
	}
	after, scope := l.budgetWait(c, &ahead, now)
	if after <= 0 {
		return nil
	}
	l.queue.put(c, now.Add(after))
	if c.NotifyReady != nil {
		l.notifyReady(now)
	}
	return &Wait{after, scope}
}

type demands struct {
	whole  demand
	shares map[string]*demand
}

func (d *demands) share(tenant string) *demand {
	own := d.shares[tenant]
	if own == nil {
		if d.shares == nil {
			d.shares = map[string]*demand{}
		}
		own = &demand{}
		d.shares[tenant] = own
	}
	return own
}

// budgetWait returns a caller's wait behind the calls in ahead, and adds its calls to ahead. Calls
// that wait for their tenant's half delay no other tenant.
func (l *Limiter) budgetWait(c Call, ahead *demands, now time.Time) (time.Duration, string) {
	if c.Limited {
		if after := l.share(c.Tenant).wait(c, ahead.share(c.Tenant), now); after > 0 {
			return after, ScopeTenant
		}
	}
	return l.whole.wait(c, &ahead.whole, now), ScopeGlobal
}

func (l *Limiter) share(tenant string) *budget {
	if b := l.shares[tenant]; b != nil {
		return b
	}
	return l.unused
}

// claimShare returns a tenant's budget. Before it adds a budget, it drops the idle budgets, which
// bounds their number.
func (l *Limiter) claimShare(tenant string, now time.Time) *budget {
	b := l.shares[tenant]
	if b == nil {
		maps.DeleteFunc(l.shares, func(_ string, b *budget) bool { return b.idle(now) })
		b = newBudget(l.unused.size())
		l.shares[tenant] = b
	}
	return b
}

func (l *Limiter) notifyReady(now time.Time) {
	next := max(l.held.Sub(now), l.blocked.Sub(now))
	if next <= 0 {
		var ahead demands
		next = l.queue.notifyReady(now, func(c Call) time.Duration {
			after, _ := l.budgetWait(c, &ahead, now)
			return after
		})
	}
	switch {
	case next <= 0:
	case l.timer == nil:
		l.timer = time.AfterFunc(next, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.notifyReady(l.now())
		})
	default:
		l.timer.Reset(next)
	}
}

// Remaining returns the number of calls that the global limit allows now.
func (l *Limiter) Remaining() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole.all.free(l.now())
}

func (l *Limiter) prune(now time.Time) {
	if l.sincePrune++; l.sincePrune < pruneEvery {
		return
	}
	l.sincePrune = 0
	for key := range l.buckets {
		if l.bucket(key, now).idle(now) {
			delete(l.buckets, key)
		}
	}
	maps.DeleteFunc(l.hidden, func(_ hiddenKey, until time.Time) bool { return !now.Before(until) })
}
