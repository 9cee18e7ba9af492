// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/pending"
)

const (
	// memory is the least time that channel changes are kept, to apply them again after a list that
	// was requested before them.
	memory = 2 * time.Minute
	// consistencyDelay is the time after a change until every backend of Discord shows the change.
	consistencyDelay = 5 * time.Second
)

// guildState is the state of one guild. The store's lock guards it.
type guildState struct {
	store    *Store
	id       string
	view     *View
	wanted   bool
	since    time.Time // first mention of the guild
	live     bool      // whether the current Gateway session sent the state and sends events
	liveAt   time.Time // when live became true; responses to earlier requests may be outdated
	stale    time.Time // last time at which the view became stale; zero if it is not stale
	nextPoll time.Time
	polling  bool
	retry    time.Duration // last pause after a failed poll; 0 after a success

	recent []change // changes of channels, oldest first
	// Deleted channels and roles. An event or response that still has them is outdated.
	tombstones   map[string]time.Time
	guildAt      time.Time                  // time of the last change of settings or roles
	writes       map[string]*pending.Writes // keyed by the id of a channel, a role or the guild
	hookChanges  map[string]hookChanges     // by channel
	hookRechecks map[string]hookRecheck     // by channel
	goneAt       time.Time                  // time of the last GUILD_DELETE event
	missingSince time.Time                  // first poll that found the guild absent, without an event; zero for none
	readAbsent   bool                       // only polls have found the guild absent, and no event

	heard         time.Time // time of the last event
	eventDeadline time.Time // deadline for an event of an own write; zero for none
	silent        bool      // whether the deadline passed without an event: the Gateway seems to send none for the guild
}

type change struct {
	at      time.Time
	id      string
	channel *discordclient.Channel
}

func newGuildState(st *Store, id string) *guildState {
	g := &guildState{
		store: st, id: id, since: time.Now(), tombstones: map[string]time.Time{}, writes: map[string]*pending.Writes{},
		hookChanges: map[string]hookChanges{}, hookRechecks: map[string]hookRecheck{},
	}
	g.view = &View{store: st, id: id}
	g.view.current.Store(&Snapshot{Guild: discordclient.Guild{ID: id}, selfID: st.selfID})
	return g
}

func (g *guildState) snap() *Snapshot { return g.view.current.Load() }

func (g *guildState) update(f func(*Snapshot)) {
	s := *g.snap()
	f(&s)
	g.view.current.Store(&s)
}

func (g *guildState) setChannel(channel *discordclient.Channel, at time.Time) bool {
	if _, gone := g.tombstones[channel.ID]; gone {
		return false
	}
	g.remember(change{at, channel.ID, channel})
	s := g.snap()
	i, found := s.find(channel.ID)
	channel = s.withPosition(channel)
	if found && reflect.DeepEqual(s.channels[i], channel) {
		return false
	}
	g.update(func(s *Snapshot) {
		all := slices.Clone(s.channels)
		if found {
			all[i] = channel
		} else {
			all = slices.Insert(all, i, channel)
		}
		s.setChannels(all)
	})
	if channel.Hidden { // no event reports changes of a hidden channel's webhooks
		g.forgetHooks(channel.ID)
	}
	return true
}

func (g *guildState) markFresh() {
	g.stale = time.Time{}
	g.update(func(s *Snapshot) { s.staleSince = time.Time{} })
}

// dropChannel removes a channel and reports whether the view had it. It also updates the children
// of a category and emits events for them, because the Gateway's later events then show no change.
func (g *guildState) dropChannel(id string, at time.Time) bool {
	g.tombstones[id] = at
	g.remember(change{at, id, nil})
	i, found := g.snap().find(id)
	if !found {
		return false
	}
	var orphans []string
	g.update(func(s *Snapshot) {
		rest := slices.Delete(slices.Clone(s.channels), i, i+1)
		for j, channel := range rest {
			if channel.ParentID == id {
				orphan := *channel
				orphan.ParentID = ""
				rest[j] = &orphan
				g.remember(change{at, channel.ID, &orphan})
				orphans = append(orphans, channel.ID)
			}
		}
		s.setChannels(rest)
	})
	g.forgetHooks(id)
	for _, orphan := range orphans {
		g.store.emit(EventChannel, g.id, orphan)
	}
	delete(g.hookChanges, id)
	delete(g.hookRechecks, id)
	return true
}

func (g *guildState) expectEvent(began time.Time) {
	if g.live && !g.silent && g.heard.Before(began) && g.eventDeadline.IsZero() {
		g.eventDeadline = time.Now().Add(g.store.EventTimeout)
		g.store.Wake()
	}
}

// missedEvent makes the view stale as of the write whose event did not come. One reading is enough,
// because every list now has the write.
func (g *guildState) missedEvent() {
	began, stale := g.eventDeadline.Add(-g.store.EventTimeout), g.stale
	g.eventDeadline, g.silent = time.Time{}, true
	g.store.Log.Warn("the Discord Gateway has not reported a change that this bot made; reading the guild instead",
		"guild", g.id)
	g.store.Counters.Gaps.Inc()
	g.store.markStale(g, 0)
	if g.stale = began; stale.After(began) {
		g.stale = stale
	}
	g.update(func(s *Snapshot) {
		if began.Before(s.staleSince) {
			s.staleSince = began
		}
	})
}

func (g *guildState) remember(last change) {
	g.recent = append(g.recent, last)
	if old := slices.IndexFunc(g.recent, func(r change) bool { return last.at.Sub(r.at) < memory }); old > 256 {
		g.recent = slices.Clone(g.recent[old:])
	}
}

// complete adds the known roles and features to a response or event that lacks them. A guild always
// has a role, so a guild without roles is partial.
func (g *guildState) complete(guild discordclient.Guild) discordclient.Guild {
	known := g.snap().Guild
	if guild.Roles == nil {
		guild.Roles = known.Roles
	}
	if guild.Features == nil {
		guild.Features = known.Features
	}
	return guild
}

func (g *guildState) setGuild(guild discordclient.Guild, at time.Time) bool {
	g.guildAt, guild = at, g.complete(guild)
	if reflect.DeepEqual(g.snap().Guild, guild) {
		return false
	}
	g.update(func(s *Snapshot) { s.Guild = guild })
	return true
}

// setChannels applies a list of channels, which may lack changes. It then applies the changes since
// the time overlay again.
func (g *guildState) setChannels(list []*discordclient.Channel, since, overlay time.Time) {
	byID := make(map[string]*discordclient.Channel, len(list))
	before := g.snap()
	for _, channel := range list {
		byID[channel.ID] = before.withPosition(channel)
	}
	followed := since // from this time on, the Gateway sends every change that the list shows
	if g.liveAt.After(since) {
		followed = g.liveAt
	}
	for id, last := range g.lastChanges(overlay, "") {
		if last.channel == nil {
			delete(byID, id)
			continue
		}
		listed, ok := byID[id]
		if ok {
			last.channel = withPosition(last.channel, listed)
		}
		last.channel = before.withPosition(last.channel)
		if g.live && last.at.Before(followed) && (!ok || !reflect.DeepEqual(listed, last.channel)) {
			g.store.markStale(g, consistencyDelay) // unclear whether the list or the change is newer
		}
		byID[id] = last.channel
	}
	for id, at := range g.tombstones { // if a list requested much later has the channel, the channel exists
		if at.Before(since.Add(-consistencyDelay)) {
			delete(g.tombstones, id)
		} else {
			delete(byID, id)
		}
	}
	// Snapshots share some of these channels, so copy a channel before changing it.
	after := slices.SortedFunc(maps.Values(byID), func(a, b *discordclient.Channel) int {
		return discordclient.CompareIDs(a.ID, b.ID)
	})
	g.update(func(s *Snapshot) {
		s.setChannels(after)
		s.CompleteAt = since
	})
	g.changeHooks(func(known map[string]hookList) {
		maps.DeleteFunc(known, func(id string, _ hookList) bool { return byID[id] == nil })
	})
	maps.DeleteFunc(g.hookChanges, func(id string, _ hookChanges) bool { return byID[id] == nil })
	maps.DeleteFunc(g.hookRechecks, func(id string, _ hookRecheck) bool { return byID[id] == nil })
	g.emitDifferences(before.channels, after)
}

func (g *guildState) lastChanges(after time.Time, only string) map[string]change {
	last := map[string]change{}
	for _, r := range g.recent {
		if !r.at.Before(after) && (only == "" || r.id == only) {
			last[r.id] = r
		}
	}
	return last
}

func (g *guildState) emitDifferences(before, after []*discordclient.Channel) {
	old := make(map[string]*discordclient.Channel, len(before))
	for _, channel := range before {
		old[channel.ID] = channel
	}
	for _, channel := range after {
		if !reflect.DeepEqual(old[channel.ID], channel) {
			g.store.emit(EventChannel, g.id, channel.ID)
		}
		delete(old, channel.ID)
	}
	for id := range old {
		g.store.emit(EventChannel, g.id, id)
	}
}

func (g *guildState) setState(p Presence, m Mode, asOf time.Time) {
	s := g.snap()
	changed := s.Presence != p || s.Mode != m
	g.update(func(s *Snapshot) {
		s.Presence, s.Mode, s.AsOf = p, m, asOf
		if p == PresenceAbsent {
			s.setChannels(nil)
			s.hooks = nil
		}
	})
	if changed {
		g.store.emit(EventGuild, g.id, "")
	}
}

func (g *guildState) pendingFor(id string) *pending.Writes {
	p := g.writes[id]
	if p == nil {
		if len(g.writes) > 256 {
			maps.DeleteFunc(g.writes, func(_ string, p *pending.Writes) bool { return p.Idle(time.Now()) })
		}
		p = &pending.Writes{}
		g.writes[id] = p
	}
	return p
}
