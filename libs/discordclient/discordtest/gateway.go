package discordtest

import (
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// Intents that decide which events a session gets; source: Discord's documentation, "Gateway intents".
const (
	intentGuilds     = 1 << 0
	intentMembers    = 1 << 1
	intentModeration = 1 << 2
	intentWebhooks   = 1 << 5
	intentMessages   = 1 << 9
	intentContent    = 1 << 15

	// intentsKnown are all bits that Discord defines; others are refused with 4013.
	intentsKnown = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
	// intentsPrivileged need to be switched on for the application: members, presences, message content.
	intentsPrivileged = intentMembers | 1<<8 | intentContent
)

// intentOf is the intent that an event belongs to; those that are not listed belong to GUILDS.
var intentOf = map[string]int{
	"GUILD_MEMBER_UPDATE":          intentMembers,
	"GUILD_AUDIT_LOG_ENTRY_CREATE": intentModeration, "WEBHOOKS_UPDATE": intentWebhooks,
	"MESSAGE_CREATE": intentMessages, "MESSAGE_UPDATE": intentMessages, "MESSAGE_DELETE": intentMessages,
}

// Gateway is the websocket side: sessions, and what tests do to them.
type Gateway struct {
	srv      *Server
	sessions map[string]*session
	conns    []*gatewayConn
	faults   GatewayFaults
	stats    GatewayStats
}

// GatewayStats counts what clients did.
type GatewayStats struct {
	// Connections that were opened, IDENTIFYs that led to a session, RESUMEs that worked, heartbeats.
	Connections, Identifies, Resumes, Heartbeats int
	// Open connections at present, and sessions that are connected or may still be resumed.
	Open, Sessions int
	// Intents of the last IDENTIFY.
	Intents int
}

// GatewayFaults is what goes wrong with the Gateway; the zero value is nothing.
type GatewayFaults struct {
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
	// WithholdReady sends neither READY nor anything after it; WithholdGuilds sends READY but no GUILD_CREATE.
	WithholdReady, WithholdGuilds bool
	// AckBeforeReady sends op 11 ahead of READY, ReconnectBeforeReady op 7 in its place.
	AckBeforeReady, ReconnectBeforeReady bool
	// WithholdAcks answers no heartbeat.
	WithholdAcks bool
	// Miss says which events are lost before they reach a session (Discord delivers 0 to N times): their absence leaves no
	// gap in its numbers. LoseOnWire says which are lost behind it: they have a number, and a RESUME brings them again.
	// These functions run under the simulator's lock.
	Miss, LoseOnWire func(event string) bool
	// Delay says how late an event comes, on the simulator's clock. Those behind it wait for it.
	Delay func(event string) time.Duration
	// Twice says which events come twice.
	Twice func(event string) bool
}

// Gateway gives access to the websocket side.
func (s *Server) Gateway() *Gateway { return &s.gateway }

// SetFaults replaces what goes wrong from now on.
func (g *Gateway) SetFaults(f GatewayFaults) {
	g.srv.mu.Lock()
	defer g.srv.mu.Unlock()
	g.faults = f
}

// Stats are the counts so far.
func (g *Gateway) Stats() GatewayStats {
	g.srv.mu.Lock()
	defer g.srv.mu.Unlock()
	out := g.stats
	out.Open, out.Sessions = len(g.conns), len(g.sessions)
	return out
}

// Drop ends all connections: with a close code, or with 0 without a word (a cut wire). Sessions can be resumed for
// Options.SessionLife, except after a code that ends them.
func (g *Gateway) Drop(code int) {
	g.srv.mu.Lock()
	defer g.srv.mu.Unlock()
	for _, c := range append([]*gatewayConn(nil), g.conns...) {
		c.close(code, "dropped by the test")
	}
}

// Reconnect asks all clients to come back (op 7).
func (g *Gateway) Reconnect() { g.sendAll(frame{Op: opReconnect}) }

// RequestHeartbeat asks all clients for a heartbeat at once (op 1).
func (g *Gateway) RequestHeartbeat() { g.sendAll(frame{Op: opHeartbeat}) }

// Invalidate tells all clients that their session is invalid (op 9); one that is not resumable is forgotten.
func (g *Gateway) Invalidate(resumable bool) {
	if !resumable {
		g.srv.mu.Lock()
		g.sessions = map[string]*session{}
		g.srv.mu.Unlock()
	}
	g.sendAll(frame{Op: opInvalidSession, D: encode(resumable)})
}

// sendAll sends a frame over all connections.
func (g *Gateway) sendAll(f frame) {
	g.srv.mu.Lock()
	defer g.srv.mu.Unlock()
	for _, c := range g.conns {
		c.send(f)
	}
}

// Outage makes a guild unavailable to Gateway clients (GUILD_DELETE with `unavailable`), or brings it back
// (GUILD_CREATE).
func (g *Gateway) Outage(guildID string, on bool) {
	g.srv.mu.Lock()
	defer g.srv.mu.Unlock()
	gl := g.srv.mustGuild(guildID)
	gl.unavailable = on
	for _, s := range g.sessions {
		switch {
		case !s.has(gl):
		case !on:
			s.present(gl)
		case s.intents&intentGuilds != 0:
			s.dispatch("GUILD_DELETE", gl.stub())
		}
	}
}

// serve opens a connection: HELLO, then whatever the client says.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	g.srv.mu.Lock()
	refuse := g.faults.Refuse || g.srv.closed
	g.srv.mu.Unlock()
	if refuse {
		http.Error(w, "no gateway available", http.StatusServiceUnavailable)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
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

// emit sends an event of a guild to all sessions that are to have it; callers hold the lock.
func (s *Server) emit(g *guild, event string, data map[string]any) {
	if g.unavailable {
		return
	}
	for _, ses := range s.gateway.sessions {
		if ses.has(g) && ses.wants(g, event, data) {
			ses.dispatch(event, ses.view(event, data))
		}
	}
}

// joined tells a bot that it was added to a guild; callers hold the lock.
func (g *Gateway) joined(gl *guild, user string) {
	for _, s := range g.sessions {
		if s.bot.UserID == user && s.has(gl) {
			s.present(gl)
		}
	}
}

// left tells a bot that it is no member any more; callers hold the lock.
func (g *Gateway) left(gl *guild, user string) {
	for _, s := range g.sessions {
		if s.bot.UserID == user && s.intents&intentGuilds != 0 && ofShard(gl.ID, s.shard) {
			s.dispatch("GUILD_DELETE", map[string]any{"id": gl.ID})
		}
	}
}

// closeBot ends all of a bot's sessions; callers hold the lock.
func (g *Gateway) closeBot(user string, code int, reason string) {
	for id, s := range g.sessions {
		if s.bot.UserID == user {
			delete(g.sessions, id)
			if s.conn != nil {
				s.conn.close(code, reason)
			}
		}
	}
}

// closeAll ends everything; callers hold the lock.
func (g *Gateway) closeAll() {
	for _, c := range append([]*gatewayConn(nil), g.conns...) {
		c.close(int(websocket.StatusGoingAway), "the simulator stops")
	}
}
