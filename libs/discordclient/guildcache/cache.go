package guildcache

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// resyncLive is about how often a live view is read by REST, in case the Gateway lost an event without a gap in its
// numbers: two calls for each guild. The time is spread by a quarter either way, so that guilds take turns.
const resyncLive = time.Hour

// cache holds the views of all guilds of a bot. One lock guards all changes; readers use the immutable snapshots and
// take no lock.
type cache struct {
	mu      sync.Mutex
	log     *slog.Logger
	token   discordclient.Secret // the reason that the Gateway gives for an end may quote it
	metrics *Metrics
	resync  time.Duration
	grace   time.Duration
	wake    func() // wakes the poller; called with the lock held, must not block

	guilds     map[string]*guildState
	subs       map[*subscription]struct{}
	selfID     string
	connecting time.Time // when the current session was begun
	connected  bool
	gatewayErr string       // why the Gateway is not connected
	alive      atomic.Int64 // when something was last heard from the Gateway, ns since 1970
}

func newCache(o *Options) *cache {
	c := &cache{
		log: o.Log, token: o.Token, metrics: o.Metrics, resync: o.Resync, grace: o.Grace, wake: func() {},
		guilds: map[string]*guildState{}, subs: map[*subscription]struct{}{},
	}
	if o.DisableGateway {
		c.grace = 0
	}
	return c
}

// guild finds or makes the state of a guild. The lock is held.
func (c *cache) guild(id string) *guildState {
	g := c.guilds[id]
	if g == nil {
		g = newGuildState(c, id)
		c.guilds[id] = g
	}
	return g
}

// want returns the view of a guild and has it kept up to date; added says that it was not wanted before.
func (c *cache) want(id string) (v *View, added bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guild(id)
	added = !g.wanted
	if added {
		g.wanted = true
		if !g.live {
			g.nextPoll = time.Now().Add(c.grace)
		}
	}
	return g.view, added
}

// forget undoes want. A live view stays up to date as long as the Gateway is connected, at no cost.
func (c *cache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[id]; g != nil {
		g.wanted = false
		if !g.live {
			delete(c.guilds, id)
		}
	}
}

// guildDeleted records that the bot has deleted a guild; GUILD_DELETE or the next poll say the same.
func (c *cache) guildDeleted(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[id]; g != nil {
		g.liveAt = time.Now() // lists that were asked for before are outdated
		g.setState(PresenceAbsent, g.snap().Mode, g.liveAt)
	}
}

// due returns a wanted guild whose time to be polled has come, or how long until the next one; wait is negative when
// there is none.
func (c *cache) due(now time.Time) (id string, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = -1
	for _, g := range c.guilds {
		if !g.wanted {
			continue
		}
		if left := g.nextPoll.Sub(now); left <= 0 {
			return g.id, 0
		} else if wait < 0 || left < wait {
			wait = left
		}
	}
	return "", wait
}

// postpone sets when a guild is polled next.
func (c *cache) postpone(id string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[id]; g != nil {
		g.nextPoll = time.Now().Add(d)
	}
}

// firstRetry is the first pause after a poll that failed; each further one is twice as long, up to the period of polling.
const firstRetry = time.Second

// failed records that a poll failed. What it was to find out stays unknown, so it is retried soon; of the pause a random
// half.
func (c *cache) failed(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guilds[id]
	if g == nil || time.Now().Before(g.nextPoll) { // the poll itself, or an event meanwhile, has set the time
		return
	}
	g.retry = min(max(2*g.retry, firstRetry), c.resync)
	g.nextPoll = time.Now().Add(g.retry/2 + rand.N(g.retry/2+1)) //nolint:gosec // spreads calls over time, guards nothing
}

// period is when a guild is read next whose view is not stale. The lock is held.
func (c *cache) period(g *guildState) time.Duration {
	if !g.live {
		return c.resync
	}
	return resyncLive*3/4 + rand.N(resyncLive/2+1) //nolint:gosec // spreads calls over time, guards nothing
}

// markStale has a guild read again soon, because its view may have missed something. The lock is held.
func (c *cache) markStale(g *guildState, in time.Duration) {
	now := time.Now()
	if at := now.Add(in); g.stale.IsZero() || at.Before(g.nextPoll) {
		g.nextPoll = at
	}
	if g.stale.IsZero() {
		g.update(func(s *Snapshot) { s.staleSince = now })
	}
	g.stale = now
	c.wake()
}

// stats fills in the part of Stats that the cache knows.
func (c *cache) stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{GatewayConnected: c.connected, GatewayError: c.gatewayErr, Guilds: len(c.guilds)}
	for _, g := range c.guilds {
		if !g.wanted {
			continue
		}
		asOf := g.view.AsOf()
		if asOf.IsZero() {
			asOf = g.since
		}
		s.OldestView = max(s.OldestView, time.Since(asOf))
	}
	return s
}
