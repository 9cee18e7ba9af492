// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"slices"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// Faults are failures of the Gateway that tests can switch on.
type Faults struct {
	Refuse bool

	WithholdHello bool
	// Instead of HELLO, ReconnectForHello sends op 7 (Reconnect), AckForHello sends op 11 (ACK).
	ReconnectForHello, AckForHello bool
	// CloseOnIdentify, if not 0, is a close code that the Gateway sends instead of READY.
	CloseOnIdentify int
	// InvalidOnIdentify answers IDENTIFY with op 9 (Invalid Session), not resumable.
	InvalidOnIdentify bool
	// WithholdReady sends no READY and no GUILD_CREATE; WithholdGuilds sends no GUILD_CREATE.
	WithholdReady, WithholdGuilds bool
	// AckBeforeReady sends op 11 before READY, ReconnectBeforeReady sends op 7 instead of READY.
	AckBeforeReady, ReconnectBeforeReady bool

	WithholdAcks bool
	// Miss and LoseOnWire select lost events. The simulator calls them while it is locked. If
	// Miss selects an event, the event gets no number (Discord delivers events 0 to N times). If
	// LoseOnWire selects an event, the event gets a number, and only a RESUME sends the event.
	Miss, LoseOnWire func(event string) bool
	// Delay returns an event's delay on the simulator's clock. The session's later events wait too.
	Delay func(event string) time.Duration

	Twice func(event string) bool
}

// SetFaults replaces all faults.
func (g *Gateway) SetFaults(f Faults) {
	g.discord.Lock()
	defer g.discord.Unlock()
	g.faults = f
}

// Drop closes all connections with a close code, or without a close frame if code is 0.
func (g *Gateway) Drop(code int) {
	g.discord.Lock()
	defer g.discord.Unlock()
	for _, c := range slices.Clone(g.conns) {
		c.close(code, "dropped by the test")
	}
}

// Reconnect asks all clients to reconnect (op 7).
func (g *Gateway) Reconnect() { g.sendAll(frame{Op: opReconnect}) }

// RequestHeartbeat asks all clients for an immediate heartbeat (op 1).
func (g *Gateway) RequestHeartbeat() { g.sendAll(frame{Op: opHeartbeat}) }

// Invalidate sends op 9 (Invalid Session) to all clients. Unless resumable, it ends all sessions.
func (g *Gateway) Invalidate(resumable bool) {
	if !resumable {
		g.discord.Lock()
		g.sessions = map[string]*session{}
		g.discord.Unlock()
	}
	g.sendAll(frame{Op: opInvalidSession, D: model.JSON(resumable)})
}

func (g *Gateway) sendAll(f frame) {
	g.discord.Lock()
	defer g.discord.Unlock()
	for _, c := range g.conns {
		c.send(f)
	}
}

// Outage makes a guild unavailable (GUILD_DELETE), or available again (GUILD_CREATE).
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
