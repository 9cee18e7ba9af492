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

// Counters are the metrics of the views. All fields are required.
type Counters struct {
	Events, Resyncs             *prometheus.CounterVec
	Gaps, Connects, Disconnects prometheus.Counter
}

// Config configures a Store. All fields are required.
type Config struct {
	Log      *slog.Logger
	Token    discordclient.Secret // to redact it: the Gateway's close reason may quote the token
	Counters Counters
	Resync   time.Duration // period of polling
	Grace    time.Duration // how long a new view waits for the Gateway before it is polled
	Wake     func()        // wakes the poller; called with the store's lock held, so it must not block
	// ResyncLive is the approximate period of reading a live view; it varies by a quarter.
	ResyncLive   time.Duration
	EventTimeout time.Duration
	// Keep reports whether to cache a guild before [Store.Want] requests it. It must not block.
	Keep func(guildID string) bool
}

// Store has the views of a bot's guilds. Readers use immutable snapshots. Callers of unexported
// methods must have locked mu, except for with and disconnect.
type Store struct {
	Config
	events fanout.Fanout[Event]

	mu           sync.Mutex
	guilds       map[string]*guildState
	selfID       string
	connecting   time.Time // start of the current session
	connected    bool
	statePending map[string]bool // guilds of this session that still lack their GUILD_CREATE event
	gatewayErr   string          // why the Gateway is not connected
	alive        atomic.Int64    // last frame of the Gateway, ns since 1970
}

// New makes an empty Store.
func New(c Config) *Store { return &Store{Config: c, guilds: map[string]*guildState{}} }

// Event reports a change of a guild by another client. It may be spurious, so check the view.
type Event struct {
	Kind      EventKind
	GuildID   string
	ChannelID string // for channel and webhooks events
	RoleID    string // for role events
}

// EventKind is the subject of an event.
type EventKind string

// Role, channel and webhooks events report created, changed and deleted objects.
const (
	EventGuild    EventKind = "guild"
	EventRole     EventKind = "role"
	EventChannel  EventKind = "channel"
	EventWebhooks EventKind = "webhooks"
)

// Events returns the sender of events. If this bot creates or renames a role, the store sends an
// event too: Kubernetes objects may wait for the role's name.
func (st *Store) Events() *fanout.Fanout[Event] { return &st.events }

func (st *Store) with(id string, f func(g *guildState)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if g := st.guilds[id]; g != nil {
		f(g)
	}
}

func (st *Store) eventFor(id string) *guildState {
	g := st.guilds[id]
	if g != nil {
		g.heard, g.silent, g.eventDeadline = time.Now(), false, time.Time{}
	}
	return g
}

// Want returns the view of a guild and keeps it up to date. added is true at the first request.
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
		case st.connected && !st.statePending[id]: // the view follows events from now on; a poll reads the earlier state
			g.live, g.liveAt = true, time.Now()
			st.markStale(g, 0)
		default:
			g.nextPoll = time.Now().Add(st.Grace)
		}
	}
	return g.view, added
}

// Forget drops the view of a guild.
func (st *Store) Forget(id string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.guilds, id)
}

// Due returns a guild to poll now, or the time until the next guild is due (negative for never).
func (st *Store) Due(now time.Time) (id string, wait time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	wait = -1
	for _, g := range st.guilds {
		if !g.wanted || g.polling {
			continue
		}
		next := g.nextPoll
		if due := g.recheckHooks(now); !due.IsZero() && due.Before(next) {
			next = due
		}
		if !g.eventDeadline.IsZero() && !now.Before(g.eventDeadline) {
			g.missedEvent()
			next = now
		} else if !g.eventDeadline.IsZero() && g.eventDeadline.Before(next) {
			next = g.eventDeadline
		}
		if rest := next.Sub(now); rest <= 0 {
			return g.id, 0
		} else if wait < 0 || rest < wait {
			wait = rest
		}
	}
	return "", wait
}

type circumstances struct {
	self       []string // the bot's roles
	roles      []discordclient.Role
	overwrites [][]discordclient.Overwrite
}

// Circumstances returns the roles and overwrites behind the bot's permissions for the guild,
// channel or webhook with this id, or nil if no view has it.
func (st *Store) Circumstances(id string) any {
	st.mu.Lock()
	defer st.mu.Unlock()
	g, about := st.guilds[id], ""
	if g == nil {
		if about = id; st.owner(id) == nil {
			about = st.channelOfHook(id)
		}
		if g = st.owner(about); g == nil {
			return nil
		}
	}
	s := g.snap()
	under := circumstances{self: s.selfRoles, roles: s.Guild.Roles}
	i, _ := s.find(about)
	for _, c := range s.channels { // a call about the guild may concern any category
		category := c.Type == discordgo.ChannelTypeGuildCategory && (about == "" || c.ID == s.channels[i].ParentID)
		if c.ID == about || category {
			under.overwrites = append(under.overwrites, c.Overwrites)
		}
	}
	return under
}

// Polling records the start or end of a poll. Due skips the guild meanwhile.
func (st *Store) Polling(id string, polling bool) {
	st.with(id, func(g *guildState) { g.polling = polling })
	st.Wake()
}

// Postpone sets when a guild is polled next.
func (st *Store) Postpone(id string, d time.Duration) {
	st.with(id, func(g *guildState) { g.nextPoll = time.Now().Add(d) })
}

// FirstRetry is the pause after the first failed poll. It doubles with each failure, up to Resync.
const FirstRetry = time.Second

// PollFailed schedules a retry after a failed poll. Half of the pause is fixed and half is random.
func (st *Store) PollFailed(id string) {
	st.with(id, func(g *guildState) {
		if time.Now().Before(g.nextPoll) { // the poll itself or an event has set a later time
			return
		}
		g.retry = min(max(2*g.retry, FirstRetry), st.Resync)
		g.nextPoll = time.Now().Add(g.retry/2 + rand.N(g.retry/2+1)) //nolint:gosec // spreads calls over time, guards nothing
	})
}

func (st *Store) period(g *guildState) time.Duration {
	if !g.live || g.silent || g.readAbsent {
		return st.Resync
	}
	return st.ResyncLive*3/4 + rand.N(st.ResyncLive/2+1) //nolint:gosec // spreads calls over time, guards nothing
}

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

func (st *Store) emit(kind EventKind, guildID, channelID string) {
	st.events.Send(Event{Kind: kind, GuildID: guildID, ChannelID: channelID})
}

func (st *Store) emitRole(guildID, roleID string) {
	st.events.Send(Event{Kind: EventRole, GuildID: guildID, RoleID: roleID})
}

// Health describes the state of all views.
type Health struct {
	GatewayConnected bool
	GatewayError     string        // empty while connected and before the first try
	Guilds           int           // views in memory
	OldestView       time.Duration // time since the oldest requested view was certainly up to date
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
