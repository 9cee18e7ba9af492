// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"slices"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// Faults are the faults of the Gateway. The zero value has none.
type Faults struct {
	// Refuse answers connections with HTTP 503.
	Refuse bool
	// WithholdHello sends nothing after a connection opens.
	WithholdHello bool
	// ReconnectForHello sends op 7 instead of HELLO. AckForHello sends op 11 instead.
	ReconnectForHello, AckForHello bool
	// CloseOnIdentify closes with this code instead of READY.
	CloseOnIdentify int
	// InvalidOnIdentify answers IDENTIFY with op 9 (d false).
	InvalidOnIdentify bool
	// WithholdReady sends neither READY nor anything after it; WithholdGuilds sends READY but no
	// GUILD_CREATE.
	WithholdReady, WithholdGuilds bool
	// AckBeforeReady sends op 11 before READY. ReconnectBeforeReady sends op 7 instead of READY.
	AckBeforeReady, ReconnectBeforeReady bool
	// WithholdAcks acknowledges no heartbeat.
	WithholdAcks bool
	// Miss selects events that are lost before a session numbers them, so they
	// leave no gap (Discord delivers events 0 to N times). LoseOnWire selects
	// events that are lost after they are numbered: they leave a gap, and a
	// RESUME repeats them. These functions run under the simulator's lock.
	Miss, LoseOnWire func(event string) bool
	// Delay returns the delay of an event on the simulator's clock. Later events wait for it.
	Delay func(event string) time.Duration
	// Twice selects events that are sent twice.
	Twice func(event string) bool
}

// SetFaults replaces the faults.
func (g *Gateway) SetFaults(f Faults) {
	g.discord.Lock()
	defer g.discord.Unlock()
	g.faults = f
}

// Drop closes all connections with a close code. Code 0 closes them without a close frame. Sessions
// can be resumed for Options.SessionLife, unless the code ends them.
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

// Invalidate invalidates the sessions of all clients (op 9). Sessions that are not resumable are
// forgotten.
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

// Outage makes a guild unavailable (GUILD_DELETE with `unavailable`), or available again
// (GUILD_CREATE).
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
