package discordclient

import (
	"encoding/json"
	"time"

	"jutsu.com/operators/libs/discordclient/gateway"
)

// intents are the events that are asked for; none is privileged.
// Source: https://discord.com/developers/docs/events/gateway#gateway-intents.
const (
	intentGuilds        = 1 << 0 // guilds, roles, channels
	intentGuildWebhooks = 1 << 5 // that a channel's webhooks changed
	intents             = intentGuilds | intentGuildWebhooks
)

var _ gateway.Handler = (*hub)(nil)

// Connecting implements gateway.Handler.
func (h *hub) Connecting() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connecting = time.Now()
}

// Alive implements gateway.Handler.
func (h *hub) Alive() { h.alive.Store(time.Now().UnixNano()) }

// Disconnected implements gateway.Handler: views stay as they are and are polled after a period without the Gateway.
func (h *hub) Disconnected(err error) {
	why := "closed"
	if err != nil {
		why = clean(withoutAddresses(err.Error()), h.token)
	}
	if h.disconnect(why) {
		h.log.Info("Discord Gateway is not connected", "reason", why)
	}
	h.metrics.disconnected()
}

// disconnect reports whether it was not known before.
func (h *hub) disconnect(why string) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news = h.connected || h.trouble != why
	h.connected, h.trouble = false, why
	for _, g := range h.guilds {
		if !g.live {
			continue
		}
		g.setState(g.snap().Presence, ModePolled, g.view.AsOf())
		g.live = false
		if at := time.Now().Add(h.resync); g.dirty.IsZero() || at.Before(g.nextPoll) { // doubt does not wait
			g.nextPoll = at
		}
		if !g.wanted {
			delete(h.guilds, g.id)
		}
	}
	h.onDirty()
	return news
}

// handlers are the events that matter. Their data is decoded before the lock is taken.
var handlers = map[string]func(h *hub, data []byte) error{
	"READY":               (*hub).onReady,
	"GUILD_CREATE":        (*hub).onGuildCreate,
	"GUILD_UPDATE":        (*hub).onGuildUpdate,
	"GUILD_DELETE":        (*hub).onGuildDelete,
	"GUILD_ROLE_CREATE":   (*hub).onRole,
	"GUILD_ROLE_UPDATE":   (*hub).onRole,
	"GUILD_ROLE_DELETE":   (*hub).onRoleDelete,
	"GUILD_MEMBER_UPDATE": (*hub).onMember,
	"CHANNEL_CREATE":      (*hub).onChannel,
	"CHANNEL_UPDATE":      (*hub).onChannel,
	"CHANNEL_DELETE":      (*hub).onChannelDelete,
	"WEBHOOKS_UPDATE":     (*hub).onWebhooks,
}

// Dispatch implements gateway.Handler. After a gap in the numbering, or an event that cannot be read, the views are
// read again by REST: what was missed is not known.
func (h *hub) Dispatch(event string, data []byte, gap bool) {
	handle, known := handlers[event]
	if !known {
		h.metrics.event("other")
	} else {
		h.metrics.event(event)
		if err := handle(h, data); err != nil {
			h.log.Warn("an event of the Discord Gateway cannot be read", "event", event)
			gap = true
		}
	}
	if gap {
		h.metrics.gap()
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, g := range h.guilds {
			if g.live { // one that nobody wants is read as soon as somebody does
				h.suspect(g, 0)
			}
		}
	}
}

func (h *hub) onReady(data []byte) error {
	var d struct {
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		Guilds []struct {
			ID string `json:"id"`
		} `json:"guilds"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	h.log.Info("Discord Gateway is connected", "guilds", len(d.Guilds))
	h.metrics.connectedNow()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.selfID, h.connected, h.trouble = d.User.ID, true, ""
	member := map[string]bool{}
	for _, g := range d.Guilds {
		member[g.ID] = true
	}
	for _, g := range h.guilds {
		g.update(func(s *Snapshot) { s.selfID = h.selfID })
		if !member[g.id] {
			h.absent(g, h.connecting)
		} else if at := time.Now().Add(h.grace); !g.live && at.Before(g.nextPoll) {
			g.nextPoll = at // should its GUILD_CREATE not come
		}
	}
	return nil
}

func (h *hub) onGuildCreate(data []byte) error {
	var w wireGuild
	if err := json.Unmarshal(data, &w); err != nil || w.ID == "" {
		return errOr(err)
	}
	guild, channels := guildOf(&w), channelsOf(w.Channels, w.ID)
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guild(w.ID)
	if w.Unavailable != nil && *w.Unavailable {
		g.setState(PresenceUnavailable, g.snap().Mode, g.snap().AsOf)
		return nil
	}
	since := h.connecting
	if g.goneAt.After(since) {
		since = g.goneAt // it came back within one session
	}
	g.live, g.liveAt, g.retry = true, time.Now(), 0
	g.trust()
	g.nextPoll = g.liveAt.Add(h.period(g))
	g.update(func(s *Snapshot) { s.selfKnown = false })
	for _, m := range w.Members {
		if m.User.ID == h.selfID {
			g.update(func(s *Snapshot) { s.selfRoles, s.selfKnown = m.Roles, true })
		}
	}
	g.update(func(s *Snapshot) { s.hooks = nil }) // they may have changed while nobody listened
	if !g.guildAt.Before(since) {
		guild = g.snap().Guild // an own write made while the session began
		h.suspect(g, settleAfter)
	}
	told := g.setGuild(guild, since)
	g.setChannels(channels, since, since)
	g.setState(PresencePresent, ModeLive, since)
	if told {
		h.emit(EventGuild, g.id, "")
	}
	h.metrics.resync("gateway")
	return nil
}

// onGuildUpdate takes over settings and roles.
func (h *hub) onGuildUpdate(data []byte) error {
	var w wireGuild
	if err := json.Unmarshal(data, &w); err != nil || w.ID == "" {
		return errOr(err)
	}
	guild := guildOf(&w)
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guild(w.ID)
	if now := time.Now(); g.echo(g.id).event(guild, now) && g.setGuild(guild, now) {
		h.emit(EventGuild, g.id, "")
	}
	return nil
}

// onGuildDelete tells an outage ("unavailable" is there) from the bot's removal (it is not).
func (h *hub) onGuildDelete(data []byte) error {
	var w wireGuild
	if err := json.Unmarshal(data, &w); err != nil || w.ID == "" {
		return errOr(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guild(w.ID)
	g.goneAt, g.recent = time.Now(), nil // what comes back has all that was told until now
	if w.Unavailable != nil {
		g.live = false
		g.nextPoll = time.Now().Add(h.resync)
		g.setState(PresenceUnavailable, ModePolled, time.Now())
		h.onDirty()
		return nil
	}
	h.absent(g, time.Now())
	return nil
}

// absent takes over that the bot is not in a guild, which is as live as its state would be. The lock is held.
func (h *hub) absent(g *guildState, asOf time.Time) {
	g.live, g.liveAt = true, time.Now()
	g.trust()
	g.nextPoll = g.liveAt.Add(h.period(g))
	g.setState(PresenceAbsent, ModeLive, asOf)
}

func (h *hub) onChannel(data []byte) error {
	var w wireChannel
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.GuildID == "" || w.ID == "" || isThread(w.Type) {
		return nil // a direct message, or a thread
	}
	c := channelOf(&w, "")
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guild(w.GuildID)
	if now := time.Now(); g.echo(c.ID).event(c, now) && g.setChannel(c, now) {
		h.emit(EventChannel, g.id, c.ID)
	}
	return nil
}

func (h *hub) onChannelDelete(data []byte) error {
	var w wireChannel
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[w.GuildID]; g != nil && g.dropChannel(w.ID, time.Now()) {
		h.emit(EventChannel, g.id, w.ID)
	}
	return nil
}

// errOr gives an event without what it must have an error too.
func errOr(err error) error {
	if err != nil {
		return err
	}
	return &Error{Class: ClassTransient, Op: "read event", Message: "it names no object"}
}
