// SPDX-License-Identifier: Apache-2.0

package store

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/prometheus/client_golang/prometheus"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/fanout"
)

// Counters count what happens to the views. All fields must be set.
type Counters struct {
	Events, Resyncs             *prometheus.CounterVec
	Gaps, Connects, Disconnects prometheus.Counter
}

// Config is what a Store needs. All fields must be set.
type Config struct {
	Log      *slog.Logger
	Token    discordclient.Secret // the reason that the Gateway gives for an end may quote it
	Counters Counters
	Resync   time.Duration // period of polling
	Grace    time.Duration // how long a guild that was just asked for may wait for the Gateway before it is polled
	Wake     func()        // wakes the poller; called with the lock held, must not block
	// ResyncLive is about how often a live view is read by REST, in case the Gateway lost an event
	// without a gap in its numbers: two calls for each guild. The time is spread by a quarter either
	// way, so that guilds take turns.
	ResyncLive time.Duration
	// EventTimeout is how late an event of an own write may be.
	EventTimeout time.Duration
	// Named reports whether a guild is kept although it was not asked for yet; called with the lock
	// held, must not block.
	Named func(guildID string) bool
}

// Store holds the views of all guilds of a bot. One lock guards all changes; readers use the
// immutable snapshots and take no lock.
type Store struct {
	Config
	events fanout.Fanout[Event]

	mu         sync.Mutex
	guilds     map[string]*guildState
	selfID     string
	connecting time.Time // when the current session was begun
	connected  bool
	coming     map[string]bool // the guilds of the session whose state the Gateway has not sent yet
	gatewayErr string          // why the Gateway is not connected
	alive      atomic.Int64    // when something was last heard from the Gateway, ns since 1970
}

// New makes an empty Store.
func New(c Config) *Store { return &Store{Config: c, guilds: map[string]*guildState{}} }

// Event says that something of a guild has changed on Discord, by a user or another program. What
// this Client's own calls change is not reported, but for what they change besides: the channels of
// a category that was deleted, and a channel that a call did not find. The state may also turn out
// to be as it was: look into the view.
type Event struct {
	Kind      EventKind
	GuildID   string
	ChannelID string // of channel and webhooks events
	RoleID    string // of role events
}

// EventKind is what an event is about.
type EventKind string

// A guild event is about settings, or that its presence or mode changed; a role event about one role, and a
// channel event about one channel, that came, changed or went; a webhooks event about the webhooks of a
// channel.
const (
	EventGuild    EventKind = "guild"
	EventRole     EventKind = "role"
	EventChannel  EventKind = "channel"
	EventWebhooks EventKind = "webhooks"
)

// Events hands out what others changed, and which names own writes have given to roles: what waits for a role
// by its name does not know who makes it.
func (st *Store) Events() *fanout.Fanout[Event] { return &st.events }

// with calls f with the state of a guild that is known, and does nothing for any other.
func (st *Store) with(id string, f func(g *guildState)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if g := st.guilds[id]; g != nil {
		f(g)
	}
}

// heard returns the state of a guild of which an event has come; nil for one that is not kept. The
// lock is held.
func (st *Store) heard(id string) *guildState {
	g := st.guilds[id]
	if g != nil {
		g.heard, g.silent, g.awaited = time.Now(), false, time.Time{}
	}
	return g
}

// Want returns the view of a guild and has it kept up to date; added says that it was not wanted
// before.
func (st *Store) Want(id string) (v *View, added bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	g := st.guilds[id]
	if g == nil {
		g = newGuildState(st, id)
		st.guilds[id] = g
	}
	if added = !g.wanted; added {
		g.wanted = true
		switch {
		case g.live:
		case st.connected && !st.coming[id]: // from now on its events are applied; what was before them is read
			g.live, g.liveAt = true, time.Now()
			st.markStale(g, 0)
		default:
			g.nextPoll = time.Now().Add(st.Grace)
		}
	}
	return g.view, added
}

// Forget undoes Want and drops the view.
func (st *Store) Forget(id string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.guilds, id)
}

// Due returns a wanted guild whose time to be polled has come, or how long until the next one; wait
// is negative when there is none.
func (st *Store) Due(now time.Time) (id string, wait time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	wait = -1
	for _, g := range st.guilds {
		if !g.wanted || g.polling {
			continue
		}
		next := g.nextPoll
		if due := g.doubtHooks(now); !due.IsZero() && due.Before(next) {
			next = due
		}
		if !g.awaited.IsZero() && !now.Before(g.awaited) {
			g.doubt()
			next = now
		} else if !g.awaited.IsZero() && g.awaited.Before(next) {
			next = g.awaited
		}
		if left := next.Sub(now); left <= 0 {
			return g.id, 0
		} else if wait < 0 || left < wait {
			wait = left
		}
	}
	return "", wait
}

// circumstances are on what it depends what Discord permits the bot.
type circumstances struct {
	self       []string // its roles
	roles      []discordclient.Role
	overwrites [][]discordclient.Overwrite
}

// Circumstances are those of calls about a guild, a channel or a webhook, by its id; nil where that is
// not known. They may be compared.
func (st *Store) Circumstances(id string) any {
	st.mu.Lock()
	defer st.mu.Unlock()
	g, about := st.guilds[id], ""
	if g == nil {
		if about = id; st.owner(id) == nil {
			about = st.holder(id)
		}
		if g = st.owner(about); g == nil {
			return nil
		}
	}
	s := g.snap()
	under := circumstances{self: s.selfRoles, roles: s.Guild.Roles}
	i, _ := s.find(about)
	for _, c := range s.channels { // of a call about the guild, any category may be meant
		category := c.Type == discordgo.ChannelTypeGuildCategory && (about == "" || c.ID == s.channels[i].ParentID)
		if c.ID == about || category {
			under.overwrites = append(under.overwrites, c.Overwrites)
		}
	}
	return under
}

// Polling records that a guild is being polled, which is not due meanwhile, or no longer.
func (st *Store) Polling(id string, polling bool) {
	st.with(id, func(g *guildState) { g.polling = polling })
	st.Wake()
}

// Postpone sets when a guild is polled next.
func (st *Store) Postpone(id string, d time.Duration) {
	st.with(id, func(g *guildState) { g.nextPoll = time.Now().Add(d) })
}

// FirstRetry is the first pause after a poll that failed; each further one is twice as long, up to
// the period of polling.
const FirstRetry = time.Second

// PollFailed records that a poll failed. What it was to find out stays unknown, so it is retried
// soon; of the pause a random half.
func (st *Store) PollFailed(id string) {
	st.with(id, func(g *guildState) {
		if time.Now().Before(g.nextPoll) { // the poll itself, or an event meanwhile, has set the time
			return
		}
		g.retry = min(max(2*g.retry, FirstRetry), st.Resync)
		g.nextPoll = time.Now().Add(g.retry/2 + rand.N(g.retry/2+1)) //nolint:gosec // spreads calls over time, guards nothing
	})
}

// period is when a guild is read next whose view is not stale. The lock is held.
func (st *Store) period(g *guildState) time.Duration {
	if !g.live || g.silent {
		return st.Resync
	}
	return st.ResyncLive*3/4 + rand.N(st.ResyncLive/2+1) //nolint:gosec // spreads calls over time, guards nothing
}

// markStale has a guild read again soon, because its view may have missed something. The lock is
// held.
func (st *Store) markStale(g *guildState, in time.Duration) {
	now := time.Now()
	if at := now.Add(in); g.stale.IsZero() || at.Before(g.nextPoll) {
		g.nextPoll = at
	}
	if g.stale.IsZero() {
		g.update(func(s *Snapshot) { s.staleSince = now })
	}
	g.stale = now
	st.Wake()
}

// emit queues an event for all subscribers. The lock is held.
func (st *Store) emit(kind EventKind, guildID, channelID string) {
	st.events.Send(Event{Kind: kind, GuildID: guildID, ChannelID: channelID})
}

func (st *Store) emitRole(guildID, roleID string) {
	st.events.Send(Event{Kind: EventRole, GuildID: guildID, RoleID: roleID})
}

// Health is a moment of the health of views.
type Health struct {
	GatewayConnected bool
	GatewayError     string        // why the Gateway is not connected; empty while it is, and before the first try
	Guilds           int           // views in memory
	OldestView       time.Duration // how long ago the most outdated wanted view was known to be up to date
}

// Health returns the health of the views.
func (st *Store) Health() Health {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := Health{GatewayConnected: st.connected, GatewayError: st.gatewayErr, Guilds: len(st.guilds)}
	for _, g := range st.guilds {
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
