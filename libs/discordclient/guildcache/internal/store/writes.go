// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/pending"
)

func (st *Store) owner(channelID string) *guildState {
	for _, g := range st.guilds {
		if _, ok := g.snap().find(channelID); ok {
			return g
		}
	}
	return nil
}

// Write calls do, which writes the channels in ids, and applies its result (nil: deleted).
func (st *Store) Write(do func() (map[string]*discordclient.Channel, error), ids ...string) error {
	st.mu.Lock()
	own, began := map[string]*pending.Writes{}, time.Now()
	for _, id := range ids {
		if g := st.owner(id); g != nil && own[id] == nil {
			own[id] = g.pendingFor(id)
			own[id].Begin()
		}
	}
	st.mu.Unlock()
	states, err := do()
	st.mu.Lock()
	defer st.mu.Unlock()
	for id, p := range own {
		if g := st.owner(id); st.written(id, p, states, err) && g != nil {
			g.expectEvent(began)
		}
	}
	if discordclient.ClassOf(err) == discordclient.ClassGone {
		missing := discordclient.CodeOf(err) == discordgo.ErrCodeUnknownChannel && len(ids) == 1
		for _, id := range ids {
			st.notFound(id, missing)
		}
	}
	return err
}

func (st *Store) written(id string, p *pending.Writes, states map[string]*discordclient.Channel, err error) bool {
	g, now := st.owner(id), time.Now()
	channel, ok := states[id]
	switch {
	case err != nil, !ok:
		p.End(nil, now)
	case channel == nil:
		p.End(nil, now)
		return g != nil && g.dropChannel(id, now)
	case p.End(channel, now) && g != nil && (!g.live || !g.snap().Hidden(id)):
		return g.setChannel(channel, now) // a channel that an event has hidden meanwhile stays hidden
	}
	return false
}

// notFound handles an error of ClassGone for a channel. If missing is true, Discord has called the
// channel itself unknown, and the view loses it. In both cases the view becomes stale, because
// Discord may call an existing channel unknown.
func (st *Store) notFound(channelID string, missing bool) {
	g := st.owner(channelID)
	if g == nil {
		return
	}
	if missing {
		i, _ := g.snap().find(channelID)
		g.update(func(s *Snapshot) { s.setChannels(slices.Delete(slices.Clone(s.channels), i, i+1)) })
		st.emit(EventChannel, g.id, channelID) // emit the event here: the poll will find no difference to the view
	}
	g.recent = slices.DeleteFunc(g.recent, func(r change) bool { return r.id == channelID })
	st.markStale(g, 0)
}

// Channel returns a copy of a visible channel in a view.
func (st *Store) Channel(id string) (discordclient.Channel, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if g := st.owner(id); g != nil {
		if channel, visible := g.snap().Channel(id); visible {
			return *channel, true
		}
	}
	return discordclient.Channel{}, false
}

// Created adds a new channel. If its event came first, the view keeps the event's newer state.
func (st *Store) Created(guildID string, channel *discordclient.Channel) {
	st.with(guildID, func(g *guildState) {
		if _, known := g.snap().hooks[channel.ID]; !known {
			g.setHooks(channel.ID, hookList{listed: time.Now()}) // a new channel has no webhooks
		}
		if _, there := g.snap().find(channel.ID); there {
			return
		}
		now := time.Now()
		p := g.pendingFor(channel.ID)
		p.Begin()
		p.End(channel, now)
		g.setChannel(channel, now)
		if channel.PositionUnknown && !g.live { // no event will bring the position
			g.store.markStale(g, consistencyDelay)
		}
		g.expectEvent(now)
	})
}

// GuildDeleted records the bot's own deletion of a guild, before GUILD_DELETE or a poll confirm it.
func (st *Store) GuildDeleted(id string) {
	st.with(id, func(g *guildState) {
		g.liveAt = time.Now() // lists requested earlier are outdated
		g.setState(PresenceAbsent, g.snap().Mode, g.liveAt)
	})
}

func (g *guildState) outdated(since time.Time) bool { return g.live && since.Before(g.liveAt) }

// Listed applies a channel list requested at since. It keeps hidden channels, which lists omit.
func (st *Store) Listed(guildID string, list []*discordclient.Channel, since time.Time) {
	st.with(guildID, func(g *guildState) {
		if g.outdated(since) || since.Before(g.snap().CompleteAt) {
			return
		}
		overlay := since
		if g.live {
			overlay = since.Add(-consistencyDelay) // the list may lag behind events
		}
		g.setChannels(append(g.snap().hidden(), list...), since, overlay)
	})
}

// Read applies a guild's settings and roles that were requested at the time since.
func (st *Store) Read(guild discordclient.Guild, since time.Time) {
	st.with(guild.ID, func(g *guildState) { g.readGuild(guild, since) })
}

// readGuild applies a guild that was requested at since. If the settings or roles changed after the
// request, the response may be outdated, so the guild is read again instead. The response may also
// lag behind events, so it does not bring back a role that was deleted just before the request.
func (g *guildState) readGuild(guild discordclient.Guild, since time.Time) {
	switch {
	case g.outdated(since):
	case !g.guildAt.Before(since):
		g.store.markStale(g, consistencyDelay)
	default:
		if guild.Roles != nil {
			guild.Roles = slices.DeleteFunc(slices.Clone(guild.Roles), func(r discordclient.Role) bool {
				at, deleted := g.tombstones[r.ID]
				return deleted && !at.Before(since.Add(-consistencyDelay))
			})
			g.update(func(s *Snapshot) { s.RolesAt = since })
		}
		if g.setGuild(guild, since) {
			g.store.emit(EventGuild, g.id, "")
		}
	}
}

// Refreshed records a poll that began at since and read the whole guild, or found it absent.
func (st *Store) Refreshed(guildID string, p Presence, since time.Time) {
	st.with(guildID, func(g *guildState) { g.refreshed(p, since) })
}

// Discord may call an existing guild unknown, so a poll after absentDelay must confirm the absence.
const absentDelay = 5 * time.Second

func (g *guildState) doubts(p Presence, since time.Time) bool {
	if !g.live || p != PresenceAbsent || g.snap().Presence != PresencePresent || g.outdated(since) {
		g.missingSince = time.Time{}
		return false
	}
	if g.missingSince.IsZero() {
		g.missingSince = since
	}
	return since.Sub(g.missingSince) < absentDelay
}

func (g *guildState) refreshed(p Presence, since time.Time) {
	g.retry = 0
	if g.doubts(p, since) {
		g.nextPoll = time.Now().Add(absentDelay)
		g.store.Wake()
		return
	}
	g.readAbsent = p == PresenceAbsent && (g.readAbsent || g.snap().Presence != PresenceAbsent)
	consistent := g.stale.Add(consistencyDelay) // responses to earlier requests may lack the missed change
	if g.stale.IsZero() || !since.Before(consistent) {
		g.markFresh()
		g.nextPoll = time.Now().Add(g.store.period(g))
		g.forgetAllHooks() // webhook events may be lost too; one call lists all webhooks again
	} else {
		if !since.Before(g.stale) { // otherwise the view became stale again during the poll, and nextPoll is set
			g.nextPoll = consistent
		}
		g.update(func(s *Snapshot) {
			if known := since.Add(-consistencyDelay); known.After(s.staleSince) {
				s.staleSince = known
			}
		})
	}
	if g.live {
		if p != g.snap().Presence && !g.outdated(since) { // the event of the bot's joining or removal was lost
			g.setState(p, ModeLive, since)
		}
	} else {
		g.update(func(s *Snapshot) {
			s.hooks = nil // without the Gateway, no event reports changes of webhooks
		})
		g.setState(p, ModePolled, since)
	}
	g.store.Counters.Resyncs.WithLabelValues("rest").Inc()
}

func affectsOthers(before, after *discordclient.Guild) bool {
	return !slices.Equal(before.Features, after.Features) ||
		before.RulesChannelID != after.RulesChannelID || before.PublicUpdatesChannelID != after.PublicUpdatesChannelID
}

// EditGuild calls do, which edits a guild's settings, and applies the result to the view.
func (st *Store) EditGuild(guildID string, do func() (discordclient.Guild, error)) (discordclient.Guild, error) {
	st.mu.Lock()
	since := time.Now()
	var p *pending.Writes
	if g := st.guilds[guildID]; g != nil {
		p = g.pendingFor(guildID)
		p.Begin()
	}
	st.mu.Unlock()
	guild, err := do()
	st.mu.Lock()
	defer st.mu.Unlock()
	g := st.guilds[guildID]
	if p == nil || g == nil { // the guild has no view
		return guild, err
	}
	if guild = g.complete(guild); err != nil {
		p.End(nil, time.Now())
	} else if now := time.Now(); p.End(guild, now) {
		if !g.guildAt.Before(since) { // an event of settings or roles may be newer than the response
			st.markStale(g, consistencyDelay)
		}
		before := g.snap().Guild
		if g.setGuild(guild, now) {
			g.expectEvent(since)
			if affectsOthers(&before, &guild) {
				st.emit(EventGuild, g.id, "")
			}
		}
	}
	if discordclient.ClassOf(err) == discordclient.ClassGone {
		st.markStale(g, 0)
	}
	return guild, err
}

// Roles applies a list of roles that was requested at the time since.
func (st *Store) Roles(guildID string, roles []discordclient.Role, since time.Time) {
	st.with(guildID, func(g *guildState) {
		guild := g.snap().Guild
		guild.Roles = roles
		g.readGuild(guild, since)
	})
}

// Self records the bot's user id.
func (st *Store) Self(userID string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.selfID = userID
	for _, g := range st.guilds {
		g.update(func(s *Snapshot) { s.selfID = userID })
	}
}

// Member records the bot's roles, requested at since, unless the Gateway sent newer ones.
func (st *Store) Member(guildID string, roles []string, since time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	g := st.guilds[guildID]
	if g != nil && (!g.live || !g.snap().selfKnown) && !since.Before(g.snap().AsOf) {
		g.update(func(s *Snapshot) { s.selfRoles, s.selfKnown, s.selfAt = roles, true, since })
	}
}
