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

const keepEvents = 2000

// session outlives its connection, so that a RESUME can continue it.
type session struct {
	id      string
	bot     *model.BotState
	intents int
	seq     int
	events  []frame // the newest events, for a RESUME
	conn    *conn
	gateway *Gateway
	shard   *[2]int
	// hidden maps the id of a channel to true if the client last saw the channel obfuscated.
	hidden map[string]bool
	// known has the ids of the channels that a GUILD_CREATE of the session has listed.
	known map[string]bool

	compress bool
	// late lists the events that GatewayFaults.Delay delays. The last event is due at lateUntil.
	late      []event
	lateUntil time.Time
	// keep cancels the timer that ends a disconnected session. A RESUME calls keep.
	keep func()
}

type event struct {
	name string
	data json.RawMessage
}

func (s *session) has(g *model.GuildState) bool {
	return g.Members[s.bot.UserID] != nil && ofShard(g.ID, s.shard)
}

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

// view obfuscates hidden channels, and removes message content without the intent MESSAGE_CONTENT.
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

// dispatch keeps events in order: later events wait for an event that GatewayFaults.Delay delays.
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
		first := s.late[0] // send the oldest event, whichever timer has fired
		s.late = s.late[1:]
		s.deliver(first)
	})
}

// deliver numbers an event and stores it for a RESUME. LoseOnWire only prevents the sending.
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
