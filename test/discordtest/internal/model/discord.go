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

// Discord is the whole state of the simulator. Callers must lock it. The lock also guards Gateway
// sessions and rate limits, so that a REST response and its events are one atomic step.
type Discord struct {
	sync.Mutex
	Clock *clock.Clock
	// URL is the base of the URLs that clients get, without a trailing slash.
	URL    string
	Users  map[string]*User
	Bots   map[string]*BotState // the keys are tokens
	Guilds map[string]*GuildState

	Events Events
	// OnChange runs after every change, to update the web page.
	OnChange func()

	Weakness Weakness
	// LoseAudit is the number of audit log entries that are lost next. A negative value loses all.
	LoseAudit int

	opts   Options
	ids    snowflakes
	random *rand.Rand
}

// Options are the fields of discordtest.Options that package model needs.
type Options struct {
	Seed                    uint64
	AuditDelay, AuditJitter time.Duration
	ShowHidden, Compatible  bool
}

// Events sends Gateway events to clients. Its methods run under the lock of [Discord].
type Events interface {
	Event(g *GuildState, name string, data map[string]any)
	// Joined and Left report a change of members. RemoveGuild calls Left for each member.
	Joined(g *GuildState, user string)
	Left(g *GuildState, user string)
	TokenReset(user string)
}

// New returns a Discord without users and guilds. Set Events before the first change.
func New(c *clock.Clock, o Options) *Discord {
	return &Discord{
		Clock: c, opts: o, Users: map[string]*User{}, Bots: map[string]*BotState{}, Guilds: map[string]*GuildState{},
		OnChange: func() {},
		random:   rand.New(rand.NewPCG(o.Seed, o.Seed)), //nolint:gosec // G404: tests repeat it by its seed
	}
}

// After calls do, with d locked, when the simulator's clock has moved by the duration wait. stop
// cancels the call.
func (d *Discord) After(wait time.Duration, do func()) (stop func()) {
	return d.Clock.After(wait, func() {
		d.Lock()
		defer d.Unlock()
		do()
	})
}

// NewID returns a new snowflake id, higher than all earlier ones.
func (d *Discord) NewID() string { return d.ids.next(d.Clock.Now()) }

// Chance returns true with probability p. The random numbers depend on Options.Seed.
func (d *Discord) Chance(p float64) bool { return d.random.Float64() < p }

// UpTo returns a random duration in (0, longest].
func (d *Discord) UpTo(longest time.Duration) time.Duration {
	return 1 + time.Duration(d.random.Int64N(int64(longest)))
}

// Secret returns n random letters and digits.
func (d *Discord) Secret(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[d.random.IntN(len(letters))]
	}
	return string(b)
}

// GatewayURL returns the websocket URL of the Gateway.
func (d *Discord) GatewayURL() string { return "ws" + strings.TrimPrefix(d.URL, "http") + "/gateway" }

// Emit sends an event of a guild, unless the guild is unavailable.
func (d *Discord) Emit(g *GuildState, event string, data map[string]any) {
	if !g.Unavailable {
		d.Events.Event(g, event, data)
	}
}

// SortedGuilds returns the guilds, oldest first.
func (d *Discord) SortedGuilds() []*GuildState {
	return slices.SortedFunc(maps.Values(d.Guilds), func(a, b *GuildState) int { return CompareIDs(a.ID, b.ID) })
}

// GuildsOf returns the number of guilds that the user is a member of.
func (d *Discord) GuildsOf(user string) int {
	n := 0
	for _, g := range d.Guilds {
		if g.Members[user] != nil {
			n++
		}
	}
	return n
}

// FindChannel returns the channel with this id and its guild, or nil.
func (d *Discord) FindChannel(id string) (*GuildState, *Channel) {
	for _, g := range d.Guilds {
		if ch := g.Channels[id]; ch != nil {
			return g, ch
		}
	}
	return nil, nil
}

// FindWebhook returns the webhook with this id and its guild, or nil.
func (d *Discord) FindWebhook(id string) (*GuildState, *Webhook) {
	for _, g := range d.Guilds {
		if w := g.Webhooks[id]; w != nil {
			return g, w
		}
	}
	return nil, nil
}
