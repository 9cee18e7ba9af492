// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"strconv"

	"jutsu.com/operators/test/discordtest/internal/model"
)

type identify struct {
	Token    string `json:"token"`
	Intents  *int   `json:"intents"`
	Compress bool   `json:"compress"`
	Shard    *[2]int
	// Discord requires Properties. The simulator ignores their content.
	Properties map[string]any `json:"properties"`
}

// start checks an IDENTIFY in Discord's order, then sends READY and one GUILD_CREATE per guild.
func (c *conn) start(d json.RawMessage) {
	g, discord := c.gateway, c.gateway.discord
	var id identify
	if json.Unmarshal(d, &id) != nil || id.Properties == nil { // Discord requires properties; the close code is a guess
		c.close(4002, "Error while decoding payload.")
		return
	}
	b, spurious := discord.BotOf("Bot "+trimBot(id.Token)), discord.Weakness.Unauthorized
	if b == nil || spurious > 0 && discord.Chance(spurious) {
		c.close(4004, "Authentication failed.")
		return
	}
	if code, reason := c.refusal(b, id); code != 0 {
		c.close(code, reason)
		return
	}
	now := discord.Clock.Now()
	if _, ok := g.windows.Take("identify/"+b.UserID, g.opts.Limits.Identify, now); !ok || g.faults.InvalidOnIdentify {
		c.send(frame{Op: opInvalidSession, D: model.JSON(false)})
		return
	}
	if _, ok := g.windows.Take("starts/"+b.UserID, g.opts.Limits.SessionStarts, now); !ok {
		discord.ResetToken(b) // Discord resets the token of a bot that starts too many sessions
		c.close(4004, "Authentication failed.")
		return
	}
	if g.faults.CloseOnIdentify != 0 {
		c.close(g.faults.CloseOnIdentify, "closed by the test")
		return
	}
	s := &session{
		id: discord.Secret(32), bot: b, intents: *id.Intents, shard: id.Shard, conn: c, gateway: g, compress: id.Compress,
		keep: func() {}, hidden: map[string]bool{}, known: map[string]bool{},
	}
	g.sessions[s.id], c.session = s, s
	g.stats.Identifies++
	g.stats.Intents = s.intents
	c.ready(s, id)
}

func (c *conn) refusal(b *model.BotState, id identify) (int, string) {
	switch {
	case id.Intents == nil || *id.Intents < 0 || *id.Intents&^intentsKnown != 0:
		return 4013, "Invalid intent(s)."
	case *id.Intents&intentsPrivileged&^b.PrivilegedIntents != 0:
		return 4014, "Disallowed intent(s)."
	case id.Shard != nil && (id.Shard[0] < 0 || id.Shard[0] >= id.Shard[1]):
		return 4010, "Invalid shard."
	}
	guilds := 0
	for _, g := range c.gateway.discord.Guilds {
		if g.Members[b.UserID] != nil && ofShard(g.ID, id.Shard) {
			guilds++
		}
	}
	if n := c.gateway.opts.Limits.GuildsPerSession; n > 0 && guilds >= n {
		return 4011, "Sharding required."
	}
	return 0, ""
}

func (c *conn) ready(s *session, id identify) {
	discord, faults := c.gateway.discord, c.gateway.faults
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
	guilds, stubs := []*model.GuildState{}, []any{}
	for _, g := range discord.SortedGuilds() {
		if s.has(g) {
			guilds = append(guilds, g)
			stubs = append(stubs, g.Stub())
		}
	}
	user := s.bot.User.Wire()
	user["verified"], user["mfa_enabled"], user["email"] = true, true, nil
	r := map[string]any{
		"v": c.version, "user": user, "guilds": stubs, "private_channels": []any{}, "_trace": []any{},
		"session_id": s.id, "session_type": "normal", "resume_gateway_url": discord.GatewayURL(),
		"application": map[string]any{"id": s.bot.ApplicationID, "flags": 0},
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

func (s *session) present(g *model.GuildState) {
	switch {
	case s.intents&intentGuilds == 0:
	case g.Unavailable:
		s.dispatch("GUILD_CREATE", g.Stub())
	default:
		s.rememberChannels(g)
		s.dispatch("GUILD_CREATE", s.gateway.discord.GuildCreate(g, s.bot))
	}
}

// ofShard reports whether a shard has a guild. In Discord, shard = (guild_id >> 22) % shards.
func ofShard(guildID string, shard *[2]int) bool {
	if shard == nil {
		return true
	}
	n, _ := strconv.ParseUint(guildID, 10, 64)
	return int(n>>22%uint64(shard[1])) == shard[0] //nolint:gosec // G115: 0 <= shard[0] < shard[1] since IDENTIFY
}

// resume sends the events that the client has missed. If the session does not exist, or no longer
// stores all these events, resume sends op 9 (Invalid Session).
func (c *conn) resume(d json.RawMessage) {
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
	b, s := g.discord.BotOf("Bot "+trimBot(r.Token)), g.sessions[r.SessionID]
	switch {
	case b == nil:
		c.close(4004, "Authentication failed.")
	case s == nil || s.bot != b || r.Seq < 0 || s.seq-r.Seq > keepEvents:
		c.send(frame{Op: opInvalidSession, D: model.JSON(false)})
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
