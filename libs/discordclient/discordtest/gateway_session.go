package discordtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Opcodes.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opVoiceState     = 4
	opResume         = 6
	opReconnect      = 7
	opRequestMembers = 8
	opInvalidSession = 9
	opHello          = 10
	opAck            = 11
)

// frame is what goes over the websocket.
type frame struct {
	Op int             `json:"op"`
	D  json.RawMessage `json:"d"`
	S  *int            `json:"s"`
	T  *string         `json:"t"`
}

// keepEvents is how many events a session remembers for a RESUME.
const keepEvents = 2000

// session is a started session; it outlives its connection, for a RESUME.
type session struct {
	id      string
	bot     *bot
	intents int
	seq     int
	events  []frame // the last ones, for replay
	conn    *gatewayConn
	gateway *Gateway
	shard   *[2]int
	// compress is whether the client takes large payloads compressed one by one.
	compress bool
	// late are events on their way (GatewayFaults.Delay), and lateUntil is when the last of them arrives.
	late      []event
	lateUntil time.Time
	// keep calls off the end of a session that nobody resumes.
	keep func()
}

// event is an event before it has a number.
type event struct {
	name string
	data json.RawMessage
}

// has says whether a guild is the session's: the bot is in it, and it belongs to the shard.
func (s *session) has(g *guild) bool { return g.members[s.bot.UserID] != nil && ofShard(g.ID, s.shard) }

// wants says whether an event is for the session: by intent, and by permission where Discord asks for one.
func (s *session) wants(g *guild, event string, data map[string]any) bool {
	if event == "GUILD_MEMBER_UPDATE" && data["user"].(map[string]any)["id"] == s.bot.UserID {
		return true // of itself a bot is told whatever its intents
	}
	intent, ok := intentOf[event]
	if !ok {
		intent = intentGuilds
	}
	switch {
	case s.intents&intent == 0:
		return false
	case strings.HasPrefix(event, "CHANNEL_") && s.gateway.srv.opts.HideUnseen:
		ch := &Channel{Overwrites: data["permission_overwrites"].([]Overwrite)}
		return g.permissionsIn(ch, s.bot.UserID).Has(PermViewChannel)
	case intent == intentModeration:
		return g.guildPermissions(s.bot.UserID).Has(PermViewAuditLog)
	case intent == intentMessages:
		ch := g.channels[data["channel_id"].(string)]
		return ch != nil && g.permissionsIn(ch, s.bot.UserID).Has(PermViewChannel)
	}
	return true
}

// view is the event as the session may see it: without the intent, other people's messages come without content.
func (s *session) view(event string, data map[string]any) map[string]any {
	if intentOf[event] != intentMessages || s.intents&intentContent != 0 || data["content"] == nil {
		return data
	}
	data = maps.Clone(data)
	data["content"], data["embeds"] = "", []any{}
	return data
}

// dispatch has an event on its way to the session, unless a fault loses it before it gets there. What comes after a late
// event waits for it: within a session the order holds.
func (s *session) dispatch(name string, data any) {
	faults, clock := s.gateway.faults, s.gateway.srv.clock
	if faults.Miss != nil && faults.Miss(name) {
		return
	}
	e := event{name, encode(data)}
	var delay time.Duration
	if faults.Delay != nil {
		delay = faults.Delay(name)
	}
	if delay <= 0 && len(s.late) == 0 {
		s.deliver(e)
		return
	}
	now := clock.now()
	if at := now.Add(delay); at.After(s.lateUntil) {
		s.lateUntil = at
	}
	s.late = append(s.late, e)
	clock.after(s.lateUntil.Sub(now), func() {
		s.gateway.srv.mu.Lock()
		defer s.gateway.srv.mu.Unlock()
		first := s.late[0] // whichever timer this is: the order is theirs
		s.late = s.late[1:]
		s.deliver(first)
	})
}

// deliver numbers an event, keeps it for a RESUME and sends it. One that is lost on the wire has its number all the same.
func (s *session) deliver(e event) {
	s.seq++
	n, faults := s.seq, s.gateway.faults
	f := frame{Op: opDispatch, D: e.data, S: &n, T: &e.name}
	s.events = append(s.events, f)
	if len(s.events) > keepEvents {
		s.events = slices.Delete(s.events, 0, len(s.events)-keepEvents)
	}
	if s.conn == nil || faults.LoseOnWire != nil && faults.LoseOnWire(e.name) {
		return
	}
	s.conn.send(f)
	if faults.Twice != nil && faults.Twice(e.name) {
		s.conn.send(f)
	}
}

// identify is what op 2 says.
type identify struct {
	Token    string `json:"token"`
	Intents  *int   `json:"intents"`
	Compress bool   `json:"compress"`
	Shard    *[2]int
	// Properties of the connection; what is in them matters to nobody.
	Properties map[string]any `json:"properties"`
}

// start is IDENTIFY: the checks in Discord's order, then READY and one GUILD_CREATE for each guild. Callers hold the lock.
func (c *gatewayConn) start(d json.RawMessage) {
	g, srv := c.gateway, c.gateway.srv
	var id identify
	if json.Unmarshal(d, &id) != nil || id.Properties == nil { // they are required; how Discord says so is a guess
		c.close(4002, "Error while decoding payload.")
		return
	}
	b := srv.botOf("Bot " + trimBot(id.Token))
	if b == nil {
		c.close(4004, "Authentication failed.")
		return
	}
	if code, reason := refusal(b, id, srv.guildsOf(b.UserID)); code != 0 {
		c.close(code, reason)
		return
	}
	now := srv.clock.now()
	if _, ok := srv.limits.take("identify/"+b.UserID, srv.opts.Limits.Identify, now); !ok || g.faults.InvalidOnIdentify {
		c.send(frame{Op: opInvalidSession, D: encode(false)})
		return
	}
	if _, ok := srv.limits.take("starts/"+b.UserID, srv.opts.Limits.SessionStarts, now); !ok {
		srv.rotate(b) // Discord resets the token of a bot that starts too many sessions
		c.close(4004, "Authentication failed.")
		return
	}
	if g.faults.CloseOnIdentify != 0 {
		c.close(g.faults.CloseOnIdentify, "closed by the test")
		return
	}
	s := &session{id: srv.secret(32), bot: b, intents: *id.Intents, shard: id.Shard, conn: c, gateway: g, compress: id.Compress, keep: func() {}}
	g.sessions[s.id], c.session = s, s
	g.stats.Identifies++
	g.stats.Intents = s.intents
	c.ready(s, id)
}

// refusal is the close code for an IDENTIFY that cannot be accepted; 0 when it can.
func refusal(b *bot, id identify, guilds int) (int, string) {
	switch {
	case id.Intents == nil || *id.Intents < 0 || *id.Intents&^intentsKnown != 0:
		return 4013, "Invalid intent(s)."
	case *id.Intents&intentsPrivileged&^b.PrivilegedIntents != 0:
		return 4014, "Disallowed intent(s)."
	case id.Shard != nil && (id.Shard[0] < 0 || id.Shard[0] >= id.Shard[1]):
		return 4010, "Invalid shard."
	case id.Shard == nil && guilds >= 2500:
		return 4011, "Sharding required."
	}
	return 0, ""
}

// ready sends READY and the guilds.
func (c *gatewayConn) ready(s *session, id identify) {
	srv, faults := c.gateway.srv, c.gateway.faults
	if faults.AckBeforeReady {
		c.send(frame{Op: opAck})
	}
	if faults.ReconnectBeforeReady {
		c.send(frame{Op: opReconnect})
		return
	}
	if faults.WithholdReady {
		return
	}
	guilds, stubs := []*guild{}, []any{}
	for _, g := range srv.sortedGuilds() {
		if s.has(g) {
			guilds = append(guilds, g)
			stubs = append(stubs, g.stub())
		}
	}
	user := s.bot.user.wire()
	user["verified"], user["mfa_enabled"], user["email"] = true, true, nil
	r := map[string]any{
		"v": c.version, "user": user, "guilds": stubs, "session_id": s.id, "resume_gateway_url": srv.gatewayURL(), "session_type": "normal",
		"application": map[string]any{"id": s.bot.ApplicationID, "flags": 0}, "private_channels": []any{}, "_trace": []any{},
	}
	if id.Shard != nil {
		r["shard"] = id.Shard
	}
	s.dispatch("READY", r)
	for _, g := range guilds {
		if !faults.WithholdGuilds {
			s.present(g)
		}
	}
}

// present tells the session of a guild: all of it, or a stub during an outage.
func (s *session) present(g *guild) {
	switch {
	case s.intents&intentGuilds == 0:
	case g.unavailable:
		s.dispatch("GUILD_CREATE", g.stub())
	default:
		s.dispatch("GUILD_CREATE", g.full(s.bot, s.gateway.srv))
	}
}

// ofShard says whether a guild is the shard's: (guild_id >> 22) % shards == shard.
func ofShard(guildID string, shard *[2]int) bool {
	if shard == nil {
		return true
	}
	n, _ := strconv.ParseUint(guildID, 10, 64)
	return int(n>>22%uint64(shard[1])) == shard[0] //nolint:gosec // G115: identify has checked that 0 <= shard[0] < shard[1]
}

// resume is op 6: replay from a sequence number on, or op 9 when the session is not known. Callers hold the lock.
func (c *gatewayConn) resume(d json.RawMessage) {
	g := c.gateway
	var r struct {
		Token     string `json:"token"`
		SessionID string `json:"session_id"`
		Seq       int    `json:"seq"`
	}
	if json.Unmarshal(d, &r) != nil {
		c.close(4002, "Error while decoding payload.")
		return
	}
	b, s := g.srv.botOf("Bot "+trimBot(r.Token)), g.sessions[r.SessionID]
	switch {
	case b == nil:
		c.close(4004, "Authentication failed.")
	case s == nil || s.bot != b || r.Seq < 0 || s.seq-r.Seq > keepEvents:
		c.send(frame{Op: opInvalidSession, D: encode(false)})
	case r.Seq > s.seq:
		delete(g.sessions, s.id)
		c.close(4007, "Invalid seq.")
	default:
		if s.conn != nil {
			s.conn.session = nil
			s.conn.close(4000, "Resumed elsewhere.")
		}
		s.keep()
		s.conn, c.session = c, s
		g.stats.Resumes++
		for _, f := range s.events {
			if *f.S > r.Seq {
				c.send(f)
			}
		}
		s.dispatch("RESUMED", map[string]any{"_trace": []any{}})
	}
}
