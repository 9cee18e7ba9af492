// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// Connecting implements gateway.Handler.
func (st *Store) Connecting() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.connecting = time.Now()
}

// Alive implements gateway.Handler.
func (st *Store) Alive() { st.alive.Store(time.Now().UnixNano()) }

// Disconnected implements gateway.Handler. It removes views that were not requested.
func (st *Store) Disconnected(err error) {
	why := "closed"
	if err != nil {
		why = discordclient.Sanitize(err.Error(), st.Token)
	}
	if st.disconnect(why) {
		st.Log.Info("Discord Gateway is not connected", "reason", why)
	}
	st.Counters.Disconnects.Inc()
}

func (st *Store) disconnect(why string) (news bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	news = st.connected || st.gatewayErr != why
	st.connected, st.gatewayErr = false, why
	for _, g := range st.guilds {
		if !g.wanted {
			delete(st.guilds, g.id)
			continue
		}
		if g.eventDeadline = (time.Time{}); !g.live {
			continue
		}
		g.setState(g.snap().Presence, ModePolled, g.view.AsOf())
		g.live = false
		if at := time.Now().Add(st.Resync); g.stale.IsZero() || at.Before(g.nextPoll) { // do not delay a stale view's poll
			g.nextPoll = at
		}
	}
	st.Wake()
	return news
}

var handlers = map[string]func(st *Store, data []byte) error{
	"READY":               handler((*Store).onReady),
	"GUILD_CREATE":        handler((*Store).onGuildCreate),
	"GUILD_UPDATE":        handler((*Store).onGuildUpdate),
	"GUILD_DELETE":        handler((*Store).onGuildDelete),
	"GUILD_ROLE_CREATE":   handler((*Store).onRole),
	"GUILD_ROLE_UPDATE":   handler((*Store).onRole),
	"GUILD_ROLE_DELETE":   handler((*Store).onRoleDelete),
	"GUILD_MEMBER_UPDATE": handler((*Store).onMember),
	"CHANNEL_CREATE":      handler((*Store).onChannel),
	"CHANNEL_UPDATE":      handler((*Store).onChannel),
	"CHANNEL_DELETE":      handler((*Store).onChannelDelete),
	"WEBHOOKS_UPDATE":     handler((*Store).onWebhooks),
}

var errNoObject = errors.New("the event names no object")

func handler[T any](on func(*Store, *T) error) func(*Store, []byte) error {
	return func(st *Store, data []byte) error {
		event := new(T)
		if err := json.Unmarshal(data, event); err != nil {
			return err
		}
		st.mu.Lock()
		defer st.mu.Unlock()
		return on(st, event)
	}
}

// Dispatch implements gateway.Handler. A lost or unreadable event makes all live views stale.
func (st *Store) Dispatch(event string, data []byte, gap bool) {
	handle, known := handlers[event]
	if !known {
		st.Counters.Events.WithLabelValues("other").Inc()
	} else {
		st.Counters.Events.WithLabelValues(event).Inc()
		if err := handle(st, data); err != nil {
			st.Log.Warn("an event of the Discord Gateway cannot be read", "event", event)
			gap = true
		}
	}
	if gap {
		st.Counters.Gaps.Inc()
		st.mu.Lock()
		defer st.mu.Unlock()
		for _, g := range st.guilds {
			if g.live { // a view that is not live is polled anyway, or read once requested
				st.markStale(g, 0)
			}
		}
	}
}

type identified struct {
	ID string `json:"id"`
}

type readyEvent struct {
	User   identified   `json:"user"`
	Guilds []identified `json:"guilds"`
}

func (st *Store) onReady(event *readyEvent) error {
	st.Log.Info("Discord Gateway is connected", "guilds", len(event.Guilds))
	st.Counters.Connects.Inc()
	st.selfID, st.connected, st.gatewayErr = event.User.ID, true, ""
	st.statePending = map[string]bool{}
	for _, guild := range event.Guilds {
		st.statePending[guild.ID] = true
	}
	for _, g := range st.guilds {
		g.update(func(s *Snapshot) { s.selfID = st.selfID })
		if !st.statePending[g.id] {
			st.absent(g, st.connecting)
		} else if at := time.Now().Add(st.Grace); !g.live && at.Before(g.nextPoll) {
			g.nextPoll = at // poll the guild in case its GUILD_CREATE does not come
		}
	}
	return nil
}

type guildEvent struct {
	settings discordclient.Guild
	more     struct {
		Channels []*discordclient.Channel `json:"channels"` // GUILD_CREATE only
		// Only GUILD_CREATE has members. Without the members intent, the only member is the bot.
		Members     []memberEvent `json:"members"`
		Unavailable *bool         `json:"unavailable"` // missing in GUILD_DELETE if the bot was removed
	}
}

func (e *guildEvent) UnmarshalJSON(data []byte) error {
	if err := errors.Join(json.Unmarshal(data, &e.settings), json.Unmarshal(data, &e.more)); err != nil {
		return err
	}
	if e.settings.ID == "" {
		return errNoObject
	}
	return nil
}

func (st *Store) onGuildCreate(event *guildEvent) error {
	guild, more := event.settings, event.more
	delete(st.statePending, guild.ID)
	g := st.eventFor(guild.ID)
	if g == nil {
		if !st.Keep(guild.ID) {
			return nil
		}
		g = newGuildState(st, guild.ID)
		st.guilds[guild.ID] = g
	}
	if more.Unavailable != nil && *more.Unavailable {
		g.setState(PresenceUnavailable, g.snap().Mode, g.snap().AsOf)
		return nil
	}
	since := st.connecting
	if g.goneAt.After(since) {
		since = g.goneAt // the guild returned within one session
	}
	g.live, g.liveAt, g.retry = true, time.Now(), 0
	g.readAbsent, g.missingSince = false, time.Time{}
	g.markFresh()
	g.nextPoll = g.liveAt.Add(st.period(g))
	clear(g.hookChanges) // events of earlier own writes went to the previous session
	clear(g.hookRechecks)
	g.forgetAllHooks()
	g.update(func(s *Snapshot) {
		s.selfKnown, s.selfAt = false, time.Time{}
		for _, m := range more.Members {
			if m.User.ID == st.selfID {
				s.selfRoles, s.selfKnown = m.Roles, true
			}
		}
	})
	if !g.guildAt.Before(since) {
		guild = g.snap().Guild // keep an own write made while the session started
		st.markStale(g, consistencyDelay)
	} else {
		g.update(func(s *Snapshot) { s.RolesAt = since })
	}
	changed := g.setGuild(guild, since)
	g.setChannels(discordclient.GuildChannels(more.Channels, g.id), since, since)
	g.setState(PresencePresent, ModeLive, since)
	if changed {
		st.emit(EventGuild, g.id, "")
	}
	st.Counters.Resyncs.WithLabelValues("gateway").Inc()
	return nil
}

func (st *Store) onGuildUpdate(event *guildEvent) error {
	g := st.eventFor(event.settings.ID)
	if now := time.Now(); g != nil && g.pendingFor(g.id).Event(event.settings, now) && g.setGuild(event.settings, now) {
		st.emit(EventGuild, g.id, "")
	}
	return nil
}

// onGuildDelete handles an outage (the event has the field "unavailable") or the bot's removal.
func (st *Store) onGuildDelete(event *guildEvent) error {
	g := st.eventFor(event.settings.ID)
	if g == nil {
		return nil
	}
	g.goneAt, g.recent = time.Now(), nil // a returning guild's state includes all changes until now
	if event.more.Unavailable == nil {
		st.absent(g, time.Now())
		return nil
	}
	g.live = false
	g.nextPoll = time.Now().Add(st.Resync)
	g.setState(PresenceUnavailable, ModePolled, time.Now())
	st.Wake()
	return nil
}

func (st *Store) absent(g *guildState, asOf time.Time) {
	g.live, g.liveAt, g.readAbsent = true, time.Now(), false
	g.markFresh()
	g.nextPoll = g.liveAt.Add(st.period(g))
	g.setState(PresenceAbsent, ModeLive, asOf)
}

func (st *Store) onChannel(channel *discordclient.Channel) error {
	if channel.GuildID == "" || channel.ID == "" || channel.IsThread() {
		return nil // a direct message or a thread
	}
	g, now := st.eventFor(channel.GuildID), time.Now()
	if g == nil || !g.pendingFor(channel.ID).Event(channel, now) {
		return nil
	}
	// Discord-compatible servers may send an event twice.
	duplicate := len(g.lastChanges(now.Add(-consistencyDelay), channel.ID)) > 0
	switch {
	case g.setChannel(channel, now):
		st.emit(EventChannel, g.id, channel.ID)
	case channel.PositionUnknown && !duplicate:
		st.markStale(g, 0) // the event shows no change, so the unknown position may have changed
	}
	return nil
}

func (st *Store) onChannelDelete(channel *discordclient.Channel) error {
	if g := st.eventFor(channel.GuildID); g != nil && g.dropChannel(channel.ID, time.Now()) {
		st.emit(EventChannel, g.id, channel.ID)
	}
	return nil
}
