// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/internal/model"
)

// Gateway is the websocket part of the simulator: connections, sessions and their faults.
type Gateway struct {
	discord *model.Discord
	opts    Options
	// The lock of model.Discord guards the fields below.
	windows  *limits.Windows
	sessions map[string]*session
	conns    []*conn
	faults   Faults
	stats    Stats
	closed   bool
}

// Options are the fields of discordtest.Options that the Gateway needs.
type Options struct {
	Limits            *limits.Limits
	HeartbeatInterval time.Duration
	SessionLife       time.Duration

	Compatible bool
}

// New makes a Gateway that sends the events of d.
func New(d *model.Discord, w *limits.Windows, o Options) *Gateway {
	g := &Gateway{discord: d, opts: o, windows: w, sessions: map[string]*session{}}
	d.Events = g
	return g
}

// Mount adds the Gateway's paths to a mux.
func (g *Gateway) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /gateway", g.serve)
	mux.HandleFunc("GET /gateway/", g.serve)
}

// Stats counts connections, sessions and actions of clients. Intents has the intents of the last
// successful IDENTIFY.
type Stats struct {
	// Identifies and Resumes count only successes. Heartbeats counts heartbeats of clients.
	Connections, Identifies, Resumes, Heartbeats int
	// Open counts open connections. Sessions includes disconnected sessions that can be resumed.
	Open, Sessions int

	Intents int
}

// Stats returns the current numbers.
func (g *Gateway) Stats() Stats {
	g.discord.Lock()
	defer g.discord.Unlock()
	out := g.stats
	out.Open, out.Sessions = len(g.conns), len(g.sessions)
	return out
}

func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	g.discord.Lock()
	refuse := g.faults.Refuse || g.closed
	g.discord.Unlock()
	if refuse {
		http.Error(w, "no gateway available", http.StatusServiceUnavailable)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has sent an HTTP error
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(1 << 16)
	c := newConn(g, r.URL.Query().Get("compress") == "zlib-stream")
	done := make(chan struct{})
	go func() { defer close(done); c.writeTo(r.Context(), ws) }()
	c.open(r.URL.Query())
	for {
		_, data, err := ws.Read(r.Context())
		if err != nil {
			c.gone(websocket.CloseStatus(err))
			break
		}
		c.receive(data)
	}
	<-done
}

// Event sends a guild's event to all sessions with the required intents and permissions.
func (g *Gateway) Event(gl *model.GuildState, name string, data map[string]any) {
	for _, s := range g.sessions {
		if !s.has(gl) {
			continue
		}
		if s.wants(gl, name, data) {
			view := s.view(gl, name, data)
			for range s.copies(name, data) {
				s.dispatch(name, view)
			}
		}
		s.updateSight(gl, name, data)
	}
}

// Joined sends GUILD_CREATE to the sessions of a bot that was added to a guild.
func (g *Gateway) Joined(gl *model.GuildState, user string) {
	for _, s := range g.sessions {
		if s.bot.UserID == user && s.has(gl) {
			s.present(gl)
		}
	}
}

// Left sends GUILD_DELETE to the sessions of a bot that left a guild.
func (g *Gateway) Left(gl *model.GuildState, user string) {
	for _, s := range g.sessions {
		if s.bot.UserID == user && s.intents&intentGuilds != 0 && ofShard(gl.ID, s.shard) {
			s.dispatch("GUILD_DELETE", map[string]any{"id": gl.ID})
		}
	}
}

// TokenReset ends all sessions of a bot and closes their connections with 4004.
func (g *Gateway) TokenReset(user string) {
	for id, s := range g.sessions {
		if s.bot.UserID == user {
			delete(g.sessions, id)
			if s.conn != nil {
				s.conn.close(4004, "Authentication failed.")
			}
		}
	}
}

// Close ends all connections and refuses new ones.
func (g *Gateway) Close() {
	g.discord.Lock()
	defer g.discord.Unlock()
	g.closed = true
	for _, c := range slices.Clone(g.conns) {
		c.close(int(websocket.StatusGoingAway), "the simulator stops")
	}
}
