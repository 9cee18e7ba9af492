// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// keepEvents is how many events a session remembers for a RESUME.
const keepEvents = 2000

// session is a started session; it outlives its connection, for a RESUME.
type session struct {
	id      string
	bot     *model.BotState
	intents int
	seq     int
	events  []frame // the last ones, for replay
	conn    *conn
	gateway *Gateway
	shard   *[2]int
	// hidden are the channels that the session was last sent obfuscated.
	hidden map[string]bool
	// met are the channels that were there when the session started: Options.Compatible.
	met map[string]bool
	// compress is whether the client takes large payloads compressed one by one.
	compress bool
	// late are events on their way (GatewayFaults.Delay), and lateUntil is when the last of them
	// arrives.
	late      []event
	lateUntil time.Time
	// keep calls off the end of a session that is not resumed in time.
	keep func()
}

// event is an event before it has a number.
type event struct {
	name string
	data json.RawMessage
}

// has says whether a guild is the session's: the bot is in it, and it belongs to the shard.
func (s *session) has(g *model.GuildState) bool {
	return g.Members[s.bot.UserID] != nil && ofShard(g.ID, s.shard)
}

// wants says whether an event is for the session: by intent, and by permission where Discord asks
// for one.
func (s *session) wants(g *model.GuildState, event string, data map[string]any) bool {
	if event == "GUILD_MEMBER_UPDATE" && data["user"].(map[string]any)["id"] == s.bot.UserID {
		return true // its own changes a bot gets whatever its intents
	}
	intent, ok := intentOf[event]
	if !ok {
		intent = intentGuilds
	}
	switch {
	case s.intents&intent == 0:
		return false
	case intent == intentModeration:
		return g.GuildPermissions(s.bot.UserID).Has(model.PermViewAuditLog)
	case intent == intentMessages:
		ch := g.Channels[data["channel_id"].(string)]
		return ch != nil && g.PermissionsIn(ch, s.bot.UserID).Has(model.PermViewChannel)
	}
	return true
}

// view is the event as the session may see it: a channel that the bot may not view is obfuscated;
// without the intent, messages of others come without content.
func (s *session) view(g *model.GuildState, event string, data map[string]any) map[string]any {
	if strings.HasPrefix(event, "CHANNEL_") {
		return s.channel(g, event, data)
	}
	if intentOf[event] != intentMessages || s.intents&intentContent != 0 || data["content"] == nil {
		return data
	}
	data = maps.Clone(data)
	data["content"], data["embeds"] = "", []any{}
	return data
}

// dispatch has an event on its way to the session, unless a fault loses it before it gets there.
// What comes after a late event waits for it: within a session the order holds.
func (s *session) dispatch(name string, data any) {
	faults, d := s.gateway.faults, s.gateway.discord
	if faults.Miss != nil && faults.Miss(name) {
		return
	}
	e := event{name, model.JSON(data)}
	var delay time.Duration
	if faults.Delay != nil {
		delay = faults.Delay(name)
	}
	if delay <= 0 && len(s.late) == 0 {
		s.deliver(e)
		return
	}
	now := d.Clock.Now()
	if at := now.Add(delay); at.After(s.lateUntil) {
		s.lateUntil = at
	}
	s.late = append(s.late, e)
	d.After(s.lateUntil.Sub(now), func() {
		first := s.late[0] // whichever timer this is: the order is theirs
		s.late = s.late[1:]
		s.deliver(first)
	})
}

// deliver numbers an event, keeps it for a RESUME and sends it. One that is lost on the wire has
// its number all the same.
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
