// SPDX-License-Identifier: Apache-2.0

// Package ratelimit keeps account of Discord's rate limits and says at once whether a call may be made
// now or how long its caller has to wait. It does no I/O: its callers report the answers.
//
// What it accounts for (https://discord.com/developers/docs/topics/rate-limits):
//   - buckets: Discord names them in X-RateLimit-Bucket; one exists per name and major parameter
//     (channel, guild, webhook). Which bucket a route belongs to is learnt from its first answer,
//     which is why one call of a route goes first and alone, for a second at most;
//   - the global limit, 50 calls per second and bot, kept as a sliding window, which is at least as
//     strict as any fixed one. A call stays in it until a second after its answer, since Discord may
//     have counted it as late as that. Callers that it holds back stand in a line (line.go), and are
//     called when their turn has come;
//   - limits that no header shows, such as two changes of a channel's name or topic in ten minutes:
//     learnt from the 429 that breaks them and then applied to that kind of change on that channel;
//   - creates and deletes are urgent: a part of the global budget, and the last call of a bucket they
//     share with edits, is kept for them, so that a stream of edits cannot starve them.
package ratelimit

import (
	"slices"
	"sync"
	"time"
)

// Scopes of a wait. The first three are Discord's own words, the others ours.
const (
	ScopeUser    = "user"    // this bot used up the bucket
	ScopeShared  = "shared"  // everybody together used up the resource
	ScopeGlobal  = "global"  // this bot makes too many calls of all kinds
	ScopeHidden  = "hidden"  // a limit that no header announces, such as name and topic
	ScopeUnknown = "unknown" // the limits of a route are not known yet and its first call is under way
	ScopeBlocked = "blocked" // refused by something in front of Discord's API, or too many refusals
)

const (
	globalWindow = time.Second
	// probePause is how long to wait for the first answer on a route, or for one that may free a
	// call.
	probePause = 100 * time.Millisecond
	// probeExpiry ends a probe whose answer does not come: a call that hangs would hold up those about
	// all other guilds until it times out.
	probeExpiry = time.Second
	pruneEvery  = 1024
)

// Call is what the limiter needs to know about a call.
type Call struct {
	Route  string // method and path template
	Major  string // major parameter: the guild's, channel's or webhook's id
	Urgent bool   // a create or a delete
	Hidden string // kind of change under a limit of its own, such as "name"; empty for none
	Caller string // whose place in the line for the global limit it takes
	More   int    // how many calls the caller will make right after it
	Turn   func() // called when the caller's turn in that line has come, once, and not under any lock; nil for not
}

// Wait says that a call may not be made before After is over.
type Wait struct {
	After time.Duration
	Scope string
}

// Limiter is safe for concurrent use. Make it with [New].
type Limiter struct {
	mu      sync.Mutex
	now     func() time.Time
	global  window
	line    line
	timer   *time.Timer // calls the next in the line; nil before the first
	reserve int

	blocked    time.Time // everything, until then
	held       time.Time // everything under the global limit, until then
	routes     map[string]*route
	kinds      map[string]*kind
	buckets    map[bucketKey]*bucket
	hidden     map[hiddenKey]time.Time
	sincePrune int
}

type (
	bucketKey struct{ name, major string }
	hiddenKey struct{ kind, major string }
)

// route is what is known about a route: nothing, that it has no bucket (name empty), or its
// bucket's name.
type route struct {
	known   bool
	name    string
	probing time.Time // when the call that will show it was let through; zero for none
}

// kind is what all buckets of one name have in common.
type kind struct {
	limit  int
	urgent bool          // whether creates or deletes count in it
	length time.Duration // of a window, at least: the longest rest of one that Discord named
}

// bucket counts one window. What may still be sent is the lowest remainder that Discord named in
// this window (all of it while none was named), minus the calls that may count in it unseen: those
// under way, and those whose answer was lost less than a window ago.
type bucket struct {
	lowest   int
	inFlight int
	lost     []time.Time // when the window is surely over that a call without an answer may count in, oldest first
	reset    time.Time   // when the window ends; zero for a window that no answer has dated yet
	window   float64     // Discord's own name for the window: X-RateLimit-Reset
	blocked  time.Time
	scope    string
}

// New makes a limiter. perSecond is the global limit (Discord: 50), of which a fifth is kept for
// urgent calls.
func New(perSecond int, now func() time.Time) *Limiter {
	return &Limiter{
		now: now, global: window{ended: make([]time.Time, perSecond)}, reserve: perSecond / 5,
		routes: map[string]*route{}, kinds: map[string]*kind{},
		buckets: map[bucketKey]*bucket{}, hidden: map[hiddenKey]time.Time{},
	}
}

// Ticket is the right to make one call; it must be given back with [Limiter.Done].
type Ticket struct {
	call  Call
	probe bool
	key   bucketKey
	began time.Time
}

// Reserve answers at once: either with the right to make the call now, or with how long to wait
// (then Wait is not nil).
func (l *Limiter) Reserve(c Call) (Ticket, *Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.prune(now)
	r, b, wait := l.check(c, now)
	if wait != nil {
		return Ticket{}, wait
	}
	l.global.underWay++
	l.line.served(c, now)
	t := Ticket{call: c, probe: !r.known, began: now}
	if t.probe {
		r.probing = now
	}
	if b != nil {
		t.key = bucketKey{r.name, c.Major}
		b.inFlight++
	}
	return t, nil
}

// Peek returns what Reserve would answer now, without the right to a call. A caller that has to wait
// for the global limit has its place in the line by it.
func (l *Limiter) Peek(c Call) *Wait {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, wait := l.check(c, l.now())
	return wait
}

// check finds the route and the bucket of a call (nil while it is not known, or there is none), and
// what it has to wait for.
func (l *Limiter) check(c Call, now time.Time) (*route, *bucket, *Wait) {
	if now.Before(l.held) && l.held.After(l.blocked) {
		if c.Turn != nil {
			l.line.queue(c, l.held)
			l.call(now)
		}
		return nil, nil, &Wait{l.held.Sub(now), ScopeGlobal}
	}
	if now.Before(l.blocked) {
		return nil, nil, &Wait{l.blocked.Sub(now), ScopeBlocked}
	}
	if until := l.hidden[hiddenKey{c.Hidden, c.Major}]; c.Hidden != "" && now.Before(until) {
		return nil, nil, &Wait{until.Sub(now), ScopeHidden}
	}
	r := l.routes[c.Route]
	if r == nil {
		r = &route{}
		l.routes[c.Route] = r
	}
	if !r.known && now.Sub(r.probing) < probeExpiry {
		return nil, nil, &Wait{probePause, ScopeUnknown}
	}
	var b *bucket
	if r.known && r.name != "" {
		b = l.bucket(bucketKey{r.name, c.Major}, now)
		if wait := l.full(b, l.kinds[r.name], c, now); wait != nil {
			return nil, nil, wait
		}
	}
	if wait := l.globalWait(c, now); wait != nil {
		return nil, nil, wait
	}
	return r, b, nil
}

// bucket finds or makes a bucket and starts a new window when the old one is over.
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

// full says how long a call has to wait for a bucket, nil for not at all.
func (l *Limiter) full(b *bucket, k *kind, c Call, now time.Time) *Wait {
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
	return &Wait{probePause, ScopeUser} // all of an undated window is under way: the next answer shows more
}

// globalWait says how long a call has to wait for the global budget, nil for not at all. It has to
// wait where those before it in the line need what is free.
func (l *Limiter) globalWait(c Call, now time.Time) *Wait {
	wait := l.budget(now, c.Urgent, l.line.before(c, now)+c.More)
	if wait <= 0 {
		return nil
	}
	l.line.queue(c, now.Add(wait))
	if c.Turn != nil {
		l.call(now)
	}
	return &Wait{wait, ScopeGlobal}
}

// budget says how long it is until a call may be made, urgent or not, that leaves so many others to make.
func (l *Limiter) budget(now time.Time, urgent bool, others int) time.Duration {
	if !urgent {
		others += l.reserve
	}
	return l.global.wait(now, others)
}

// call calls those in the line whose turn has come, and sees to it that the next are called.
func (l *Limiter) call(now time.Time) {
	next := max(l.held.Sub(now), l.blocked.Sub(now))
	if next <= 0 {
		var turns []func()
		turns, next = l.line.call(now, func(urgent bool, others int) time.Duration { return l.budget(now, urgent, others) })
		for _, turn := range turns {
			go turn()
		}
	}
	switch {
	case next <= 0:
	case l.timer == nil:
		l.timer = time.AfterFunc(next, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.call(l.now())
		})
	default:
		l.timer.Reset(next)
	}
}

// Remaining is how many calls of the global budget could be made now.
func (l *Limiter) Remaining() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.global.free(l.now())
}

// prune forgets what is over, now and then, so that memory follows the calls in use and not the
// calls ever made.
func (l *Limiter) prune(now time.Time) {
	if l.sincePrune++; l.sincePrune < pruneEvery {
		return
	}
	l.sincePrune = 0
	for key, b := range l.buckets {
		l.bucket(key, now)
		if b.inFlight == 0 && len(b.lost) == 0 && !now.Before(b.reset) && !now.Before(b.blocked) {
			delete(l.buckets, key)
		}
	}
	for key, until := range l.hidden {
		if !now.Before(until) {
			delete(l.hidden, key)
		}
	}
}

// window is the calls under way and the times at which the last calls ended, as many as are allowed
// in globalWindow, oldest at next.
type window struct {
	underWay int
	ended    []time.Time
	next     int
	took     time.Duration // how long a call lasts: a moving average
}

// wait says how long until a call may be made that leaves others calls of the window unused.
func (w *window) wait(now time.Time, others int) time.Duration {
	taken, size := w.underWay+others, len(w.ended)
	free := w.ended[(w.next+taken)%size].Add(globalWindow)
	if free.Before(now) {
		free = now
	}
	// What is taken beyond the window is free a round after what is taken in it, and so on.
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
