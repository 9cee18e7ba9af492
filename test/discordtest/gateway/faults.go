// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"slices"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// Faults is what goes wrong with the Gateway; the zero value is nothing.
type Faults struct {
	// Refuse answers connections with HTTP 503.
	Refuse bool
	// WithholdHello sends nothing after a connection was opened.
	WithholdHello bool
	// ReconnectForHello sends op 7 where HELLO is due, AckForHello op 11.
	ReconnectForHello, AckForHello bool
	// CloseOnIdentify closes with this code where READY is due.
	CloseOnIdentify int
	// InvalidOnIdentify answers IDENTIFY with op 9 (d false).
	InvalidOnIdentify bool
	// WithholdReady sends neither READY nor anything after it; WithholdGuilds sends READY but no
	// GUILD_CREATE.
	WithholdReady, WithholdGuilds bool
	// AckBeforeReady sends op 11 ahead of READY, ReconnectBeforeReady op 7 in its place.
	AckBeforeReady, ReconnectBeforeReady bool
	// WithholdAcks answers no heartbeat.
	WithholdAcks bool
	// Miss says which events are lost before they reach a session (Discord delivers 0 to N times):
	// their absence leaves no gap in its numbers. LoseOnWire says which are lost behind it: they
	// have a number, and a RESUME brings them again. These functions run under the simulator's
	// lock.
	Miss, LoseOnWire func(event string) bool
	// Delay says how late an event comes, on the simulator's clock. Those behind it wait for it.
	Delay func(event string) time.Duration
	// Twice says which events come twice.
	Twice func(event string) bool
}

// SetFaults replaces what goes wrong from now on.
func (g *Gateway) SetFaults(f Faults) {
	g.discord.Lock()
	defer g.discord.Unlock()
	g.faults = f
}

// Drop ends all connections: with a close code, or with 0 without one (a cut wire). Sessions can be
// resumed for Options.SessionLife, except after a code that ends them.
func (g *Gateway) Drop(code int) {
	g.discord.Lock()
	defer g.discord.Unlock()
	for _, c := range slices.Clone(g.conns) {
		c.close(code, "dropped by the test")
	}
}

// Reconnect asks all clients to come back (op 7).
func (g *Gateway) Reconnect() { g.sendAll(frame{Op: opReconnect}) }

// RequestHeartbeat asks all clients for a heartbeat at once (op 1).
func (g *Gateway) RequestHeartbeat() { g.sendAll(frame{Op: opHeartbeat}) }

// Invalidate makes the sessions of all clients invalid (op 9); one that is not resumable is
// forgotten.
func (g *Gateway) Invalidate(resumable bool) {
	if !resumable {
		g.discord.Lock()
		g.sessions = map[string]*session{}
		g.discord.Unlock()
	}
	g.sendAll(frame{Op: opInvalidSession, D: model.JSON(resumable)})
}

// sendAll sends a frame over all connections.
func (g *Gateway) sendAll(f frame) {
	g.discord.Lock()
	defer g.discord.Unlock()
	for _, c := range g.conns {
		c.send(f)
	}
}

// Outage makes a guild unavailable to Gateway clients (GUILD_DELETE with `unavailable`), or brings
// it back (GUILD_CREATE).
func (g *Gateway) Outage(guildID string, on bool) {
	g.discord.Lock()
	defer g.discord.Unlock()
	gl := g.discord.Guilds[guildID]
	if gl == nil {
		panic(fmt.Sprintf("discordtest: no guild %q", guildID))
	}
	gl.Unavailable = on
	for _, s := range g.sessions {
		switch {
		case !s.has(gl):
		case !on:
			s.present(gl)
		case s.intents&intentGuilds != 0:
			s.dispatch("GUILD_DELETE", gl.Stub())
		}
	}
}
