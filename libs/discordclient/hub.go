package discordclient

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// checkLive is about how often a live view is read by REST, in case the Gateway lost an event without a gap in its
// numbers: two calls for each guild. The time is spread by a quarter either way, so that guilds take turns.
const checkLive = time.Hour

// hub holds the views of all guilds of a bot. One lock guards all changes; readers use the immutable snapshots and
// take no lock. hub.go holds what is about all guilds, hub_guild.go what is about one, hub_dispatch.go the Gateway's
// events, hub_writes.go what the Client's own calls change.
type hub struct {
	mu      sync.Mutex
	log     *slog.Logger
	token   Secret // what the Gateway tells as the reason of an end may quote it
	metrics *Metrics
	resync  time.Duration
	grace   time.Duration
	check   time.Duration // how often a live view is read, about
	onDirty func()        // wakes the poller; called with the lock held, must not block

	guilds     map[string]*guildState
	subs       map[*subscription]struct{}
	selfID     string
	connecting time.Time // when the current session was begun
	connected  bool
	trouble    string       // why the Gateway is not connected
	alive      atomic.Int64 // when something was last heard from the Gateway, ns since 1970
}

func newHub(o *Options) *hub {
	h := &hub{
		log: o.Log, token: o.Token, metrics: o.Metrics, resync: o.Resync, grace: o.Grace, check: checkLive, onDirty: func() {},
		guilds: map[string]*guildState{}, subs: map[*subscription]struct{}{},
	}
	if o.DisableGateway {
		h.grace = 0
	}
	return h
}

// guild finds or makes the state of a guild. The lock is held.
func (h *hub) guild(id string) *guildState {
	g := h.guilds[id]
	if g == nil {
		g = newGuildState(h, id)
		h.guilds[id] = g
	}
	return g
}

// want returns the view of a guild and has it kept up to date; added says that it was not wanted before.
func (h *hub) want(id string) (v *View, added bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guild(id)
	added = !g.wanted
	if added {
		g.wanted = true
		if !g.live {
			g.nextPoll = time.Now().Add(h.grace)
		}
	}
	return g.view, added
}

// forget undoes want. A live view stays true as long as the Gateway is up, at no cost.
func (h *hub) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[id]; g != nil {
		g.wanted = false
		if !g.live {
			delete(h.guilds, id)
		}
	}
}

// left takes over that the bot is no longer in a guild, by its own doing; GUILD_DELETE or the next reading say the same.
func (h *hub) left(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[id]; g != nil {
		g.liveAt = time.Now() // lists that were asked for before are outdated
		g.setState(PresenceAbsent, g.snap().Mode, g.liveAt)
	}
}

// due returns a wanted guild whose time to be polled has come, or how long until the next one; wait is negative when
// there is none.
func (h *hub) due(now time.Time) (id string, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait = -1
	for _, g := range h.guilds {
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
func (h *hub) postpone(id string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[id]; g != nil {
		g.nextPoll = time.Now().Add(d)
	}
}

// firstRetry is the first pause after a reading that failed; each further one is twice as long, up to the period of polling.
const firstRetry = time.Second

// failed notes that a reading failed. What it was to find out stays unknown, so it is tried again soon; of the pause a random half.
func (h *hub) failed(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guilds[id]
	if g == nil || time.Now().Before(g.nextPoll) { // the reading itself, or an event meanwhile, has set the time
		return
	}
	g.retry = min(max(2*g.retry, firstRetry), h.resync)
	g.nextPoll = time.Now().Add(g.retry/2 + rand.N(g.retry/2+1)) //nolint:gosec // spreads calls over time, guards nothing
}

// period is when a guild is read next that gives no cause for doubt. The lock is held.
func (h *hub) period(g *guildState) time.Duration {
	if !g.live {
		return h.resync
	}
	return h.check*3/4 + rand.N(h.check/2+1) //nolint:gosec // spreads calls over time, guards nothing
}

// suspect has a guild read again soon, because its view may have missed something. The lock is held.
func (h *hub) suspect(g *guildState, in time.Duration) {
	now := time.Now()
	if at := now.Add(in); g.dirty.IsZero() || at.Before(g.nextPoll) {
		g.nextPoll = at
	}
	if g.dirty.IsZero() {
		g.update(func(s *Snapshot) { s.doubted = now })
	}
	g.dirty = now
	h.onDirty()
}

// stats fills in the part of Stats that the hub knows.
func (h *hub) stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{GatewayConnected: h.connected, GatewayError: h.trouble, Guilds: len(h.guilds)}
	for _, g := range h.guilds {
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

// Event says that something of a guild has changed on Discord, by a person or another program. What this Client's own calls change is not told, but
// for what they change besides: the channels of a category that was deleted, and a channel that a call did not find. An event may also tell of
// what turns out to be as it was. Look into the view for the new state.
type Event struct {
	Kind      EventKind
	GuildID   string
	ChannelID string // empty for what is about the whole guild
}

// EventKind is what an event is about.
type EventKind string

// A guild event is about settings, roles, or that its presence or mode changed; a channel event about one channel that
// came, changed or went; a webhooks event about the webhooks of a channel.
const (
	EventGuild    EventKind = "guild"
	EventChannel  EventKind = "channel"
	EventWebhooks EventKind = "webhooks"
)

// subscription is a queue without bound in time and bounded in size by the number of objects: an event that was not
// taken yet is not queued again. So a slow reader loses nothing and never holds up the Gateway.
type subscription struct {
	mu     sync.Mutex
	queue  []Event
	queued map[Event]struct{}
	wake   chan struct{}
}

// subscribe implements Client.Subscribe.
func (h *hub) subscribe(ctx context.Context) <-chan Event {
	s := &subscription{queued: map[Event]struct{}{}, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	out := make(chan Event)
	go func() {
		defer close(out)
		defer func() { h.mu.Lock(); delete(h.subs, s); h.mu.Unlock() }()
		s.deliver(ctx, out)
	}()
	return out
}

// deliver hands out events until the context ends.
func (s *subscription) deliver(ctx context.Context, out chan<- Event) {
	for {
		e, ok := s.take()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case out <- e:
		}
	}
}

func (s *subscription) take() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Event{}, false
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	delete(s.queued, e)
	return e, true
}

func (s *subscription) put(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.queued[e]; ok {
		return
	}
	s.queued[e] = struct{}{}
	s.queue = append(s.queue, e)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// emit queues an event for all subscribers. The lock is held.
func (h *hub) emit(kind EventKind, guildID, channelID string) {
	for s := range h.subs {
		s.put(Event{kind, guildID, channelID})
	}
}
