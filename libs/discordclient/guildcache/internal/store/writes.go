// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/pending"
)

// owner finds the guild that has a channel in its view. The lock is held.
func (st *Store) owner(channelID string) *guildState {
	for _, g := range st.guilds {
		if _, ok := g.snap().find(channelID); ok {
			return g
		}
	}
	return nil
}

// Write makes an own write to channels known to their guild: begin before it, end with the states
// that it led to, nil for a deleted channel. A channel that is in no view is left alone.
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
			g.await(began)
		}
	}
	if discordclient.ClassOf(err) == discordclient.ClassGone {
		missing := discordclient.CodeOf(err) == discordgo.ErrCodeUnknownChannel && len(ids) == 1
		for _, id := range ids {
			st.contradicted(id, missing)
		}
	}
	return err
}

// written ends an own write to a channel; it reports whether that changed the view.
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
		return g.setChannel(channel, now) // unless an event has hidden it from the bot meanwhile
	}
	return false
}

// contradicted handles that something a write was about is not there, though the view has it: it is
// read again. A channel that is missing itself leaves the view, for now: Discord has been seen to
// say so too early.
func (st *Store) contradicted(channelID string, missing bool) {
	g := st.owner(channelID)
	if g == nil {
		return
	}
	if missing {
		i, _ := g.snap().find(channelID)
		g.update(func(s *Snapshot) { s.setChannels(slices.Delete(slices.Clone(s.channels), i, i+1)) })
		st.emit(EventChannel, g.id, channelID) // the poll will find nothing that differs from the view
	}
	g.recent = slices.DeleteFunc(g.recent, func(r change) bool { return r.id == channelID })
	st.markStale(g, 0)
}

// Channel returns a copy of a channel as the view has it.
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

// Created puts a new channel into the view, unless its event came before the answer and may be
// newer.
func (st *Store) Created(guildID string, channel *discordclient.Channel) {
	st.with(guildID, func(g *guildState) {
		if _, known := g.snap().hooks[channel.ID]; !known {
			g.setHooks(channel.ID, hookList{listed: time.Now()}) // a new channel has none
		}
		if _, there := g.snap().find(channel.ID); there {
			return
		}
		now := time.Now()
		p := g.pendingFor(channel.ID)
		p.Begin()
		p.End(channel, now)
		g.setChannel(channel, now)
		if channel.PositionUnknown && !g.live { // no event brings it
			g.store.markStale(g, consistencyDelay)
		}
		g.await(now)
	})
}

// GuildDeleted records that the bot has deleted a guild; GUILD_DELETE or the next poll say the
// same.
func (st *Store) GuildDeleted(id string) {
	st.with(id, func(g *guildState) {
		g.liveAt = time.Now() // lists that were asked for before are outdated
		g.setState(PresenceAbsent, g.snap().Mode, g.liveAt)
	})
}

// outdated reports whether what was asked for at since may be older than what the Gateway delivered
// meanwhile.
func (g *guildState) outdated(since time.Time) bool { return g.live && since.Before(g.liveAt) }

// Listed takes over a list of channels that was asked for at since. It has all that the bot may view;
// what is known to be hidden from it stays.
func (st *Store) Listed(guildID string, list []*discordclient.Channel, since time.Time) {
	st.with(guildID, func(g *guildState) {
		if g.outdated(since) || since.Before(g.snap().CompleteAt) {
			return
		}
		overlay := since
		if g.live {
			overlay = since.Add(-consistencyDelay) // the list can lag behind the Gateway's events
		}
		g.setChannels(append(g.snap().hidden(), list...), since, overlay)
	})
}

// Read takes over settings that were asked for at since, unless they changed meanwhile.
func (st *Store) Read(guild discordclient.Guild, since time.Time) {
	st.with(guild.ID, func(g *guildState) { g.readGuild(guild, since) })
}

// readGuild takes over settings that were asked for at since. When they changed meanwhile, what was
// read may be older or newer than that: they are read again.
func (g *guildState) readGuild(guild discordclient.Guild, since time.Time) {
	switch {
	case g.outdated(since):
	case !g.guildAt.Before(since):
		g.store.markStale(g, consistencyDelay)
	default:
		if guild.Roles != nil {
			g.update(func(s *Snapshot) { s.RolesAt = since })
		}
		if g.setGuild(guild, since) {
			g.store.emit(EventGuild, g.id, "")
		}
	}
}

// Refreshed records that a guild was read as a whole, or found not to be there.
func (st *Store) Refreshed(guildID string, p Presence, since time.Time) {
	st.with(guildID, func(g *guildState) { g.refreshed(p, since) })
}

func (g *guildState) refreshed(p Presence, since time.Time) {
	g.retry = 0
	consistent := g.stale.Add(consistencyDelay) // what was asked for earlier may lag behind what made the view stale
	if g.stale.IsZero() || !since.Before(consistent) {
		g.markFresh()
		g.nextPoll = time.Now().Add(g.store.period(g))
		g.forgetAllHooks() // one call reads those again that are in use
	} else {
		if !since.Before(g.stale) { // otherwise there was a new cause meanwhile, which has set the time
			g.nextPoll = consistent
		}
		g.update(func(s *Snapshot) {
			if known := since.Add(-consistencyDelay); known.After(s.staleSince) {
				s.staleSince = known
			}
		})
	}
	if g.live {
		if p != g.snap().Presence && !g.outdated(since) { // its event was lost
			g.setState(p, ModeLive, since)
		}
	} else {
		g.update(func(s *Snapshot) {
			s.hooks = nil // nothing reports when they change
		})
		g.setState(p, ModePolled, since)
	}
	g.store.Counters.Resyncs.WithLabelValues("rest").Inc()
}

// concernsOthers reports whether an own write of settings changed what objects may have or delete in the guild.
func concernsOthers(before, after *discordclient.Guild) bool {
	return !slices.Equal(before.Features, after.Features) ||
		before.RulesChannelID != after.RulesChannelID || before.PublicUpdatesChannelID != after.PublicUpdatesChannelID
}

// EditGuild brings an own write of settings into the view.
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
	if p == nil || g == nil { // not in use, or not any more
		return guild, err
	}
	if guild = g.complete(guild); err != nil {
		p.End(nil, time.Now())
	} else if now := time.Now(); p.End(guild, now) {
		if !g.guildAt.Before(since) { // an event of settings or roles that may be newer than the answer
			st.markStale(g, consistencyDelay)
		}
		before := g.snap().Guild
		if g.setGuild(guild, now) {
			g.await(since)
			if concernsOthers(&before, &guild) {
				st.emit(EventGuild, g.id, "")
			}
		}
	}
	if discordclient.ClassOf(err) == discordclient.ClassGone {
		st.markStale(g, 0)
	}
	return guild, err
}

// Roles takes over a list of roles that was asked for at since, unless the guild changed meanwhile.
func (st *Store) Roles(guildID string, roles []discordclient.Role, since time.Time) {
	st.with(guildID, func(g *guildState) {
		guild := g.snap().Guild
		guild.Roles = roles
		g.readGuild(guild, since)
	})
}

// Self records who the bot is.
func (st *Store) Self(userID string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.selfID = userID
	for _, g := range st.guilds {
		g.update(func(s *Snapshot) { s.selfID = userID })
	}
}

// Member records which roles the bot has in a guild, as they were asked for at since. The Gateway's
// are newer.
func (st *Store) Member(guildID string, roles []string, since time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	g := st.guilds[guildID]
	if g != nil && (!g.live || !g.snap().selfKnown) && !since.Before(g.snap().AsOf) {
		g.update(func(s *Snapshot) { s.selfRoles, s.selfKnown, s.selfAt = roles, true, since })
	}
}
