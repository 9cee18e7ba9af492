// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"jutsu.com/operators/test/discordtest/internal/clock"
)

// Discord is the whole state: users, bots, guilds and their contents. Its lock also guards the rest
// of the simulator, such as Gateway sessions and rate limits, so that a response and its events are
// one step. Callers of its methods hold the lock.
type Discord struct {
	sync.Mutex
	Clock *clock.Clock
	// URL is the address for clients, without a trailing slash.
	URL    string
	Users  map[string]*User
	Bots   map[string]*BotState // the keys are tokens
	Guilds map[string]*GuildState
	// Events gets the events of guilds. It is the Gateway.
	Events Events
	// OnChange runs after every change. The page uses it.
	OnChange func()
	// Weakness makes some responses wrong for a moment.
	Weakness Weakness
	// LoseAudit is the number of next actions that get no
	// audit log entry. If negative, no action gets one.
	LoseAudit int

	opts   Options
	ids    snowflakes
	random *rand.Rand
}

// Options are the options of discordtest.Options that concern the state.
type Options struct {
	Seed                    uint64
	AuditDelay, AuditJitter time.Duration
	ShowHidden, Compatible  bool
}

// Events sends events to clients. Its methods run under the lock.
type Events interface {
	// Event sends an event to everyone who should get it.
	Event(g *GuildState, name string, data map[string]any)
	// Joined and Left report that a user joined or left a guild.
	Joined(g *GuildState, user string)
	Left(g *GuildState, user string)
	// TokenReset ends all sessions of a bot.
	TokenReset(user string)
}

// New returns an empty Discord. Set Events before the first change.
func New(c *clock.Clock, o Options) *Discord {
	return &Discord{
		Clock: c, opts: o, Users: map[string]*User{}, Bots: map[string]*BotState{}, Guilds: map[string]*GuildState{},
		OnChange: func() {},
		random:   rand.New(rand.NewPCG(o.Seed, o.Seed)), //nolint:gosec // G404: tests repeat it by its seed
	}
}

// After runs do under the lock when the duration has passed. stop cancels the run.
func (d *Discord) After(wait time.Duration, do func()) (stop func()) {
	return d.Clock.After(wait, func() {
		d.Lock()
		defer d.Unlock()
		do()
	})
}

// NewID makes an id.
func (d *Discord) NewID() string { return d.ids.next(d.Clock.Now()) }

// Chance is true with probability p.
func (d *Discord) Chance(p float64) bool { return d.random.Float64() < p }

// UpTo returns a random duration in (0, longest].
func (d *Discord) UpTo(longest time.Duration) time.Duration {
	return 1 + time.Duration(d.random.Int64N(int64(longest)))
}

// Secret returns a random text of n characters.
func (d *Discord) Secret(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[d.random.IntN(len(letters))]
	}
	return string(b)
}

// GatewayURL returns the address for websockets.
func (d *Discord) GatewayURL() string { return "ws" + strings.TrimPrefix(d.URL, "http") + "/gateway" }

// Emit sends an event of a guild. During an outage no client gets it.
func (d *Discord) Emit(g *GuildState, event string, data map[string]any) {
	if !g.Unavailable {
		d.Events.Event(g, event, data)
	}
}

// SortedGuilds returns the guilds by age.
func (d *Discord) SortedGuilds() []*GuildState {
	return slices.SortedFunc(maps.Values(d.Guilds), func(a, b *GuildState) int { return CompareIDs(a.ID, b.ID) })
}

// GuildsOf returns the number of a user's guilds.
func (d *Discord) GuildsOf(user string) int {
	n := 0
	for _, g := range d.Guilds {
		if g.Members[user] != nil {
			n++
		}
	}
	return n
}

// FindChannel searches all guilds.
func (d *Discord) FindChannel(id string) (*GuildState, *Channel) {
	for _, g := range d.Guilds {
		if ch := g.Channels[id]; ch != nil {
			return g, ch
		}
	}
	return nil, nil
}

// FindWebhook searches all guilds.
func (d *Discord) FindWebhook(id string) (*GuildState, *Webhook) {
	for _, g := range d.Guilds {
		if w := g.Webhooks[id]; w != nil {
			return g, w
		}
	}
	return nil, nil
}
