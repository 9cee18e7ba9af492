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

// keepEvents bounds the events kept for a RESUME.
const keepEvents = 2000

// session is a started session. It outlives its connection, so that a RESUME can continue it.
type session struct {
	id      string
	bot     *model.BotState
	intents int
	seq     int
	events  []frame // the last events, which a RESUME repeats
	conn    *conn
	gateway *Gateway
	shard   *[2]int
	// hidden lists the channels that were obfuscated when the session last got them.
	hidden map[string]bool
	// known lists the channels that existed when the session started, for Options.Compatible.
	known map[string]bool
	// compress reports whether large payloads are compressed one by one.
	compress bool
	// late lists the delayed events (GatewayFaults.Delay). The last event leaves at lateUntil.
	late      []event
	lateUntil time.Time
	// keep cancels the timer that ends a session which is not resumed in time.
	keep func()
}

// event is an event without its number.
type event struct {
	name string
	data json.RawMessage
}

// has reports whether the bot is in the guild and the guild belongs to the shard.
func (s *session) has(g *model.GuildState) bool {
	return g.Members[s.bot.UserID] != nil && ofShard(g.ID, s.shard)
}

// wants reports whether the session gets an event. That depends on the session's intents and the
// bot's permissions.
func (s *session) wants(g *model.GuildState, event string, data map[string]any) bool {
	if event == "GUILD_MEMBER_UPDATE" && data["user"].(map[string]any)["id"] == s.bot.UserID {
		return true // a bot always gets changes of its own member
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

// view returns the event as the session may see it. Hidden channels are obfuscated. Without the
// content intent, the messages of other users have no content.
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

// dispatch queues an event, unless a fault loses it. If an event is delayed, later events wait, so
// that the events of a session stay in order.
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
		first := s.late[0] // the oldest event leaves first, whichever timer fires
		s.late = s.late[1:]
		s.deliver(first)
	})
}

// deliver numbers, stores and sends an event. An event that is lost on the wire also gets a number.
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
