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
	// memory is how long changes are remembered: longer than any list of channels or beginning of a
	// session takes.
	memory = 2 * time.Minute
	// consistencyDelay is when all of Discord surely shows a change: a view is read again so long
	// after it became stale.
	consistencyDelay = 5 * time.Second
)

// guildState is what the store knows of one guild. All methods expect the store's lock to be held.
type guildState struct {
	store    *Store
	id       string
	view     *View
	wanted   bool
	since    time.Time // when it was first heard of
	live     bool      // the current session delivered it and follows it
	liveAt   time.Time // when it did: what was asked for before may be older
	stale    time.Time // the last cause to read it again, though live; zero for none
	nextPoll time.Time
	polling  bool
	retry    time.Duration // the last pause after a poll that failed; 0 after one that did not

	recent      []change                   // the last changes of channels, oldest first
	tombstones  map[string]time.Time       // deleted channels and roles: what still comes for them is outdated
	guildAt     time.Time                  // when its settings last changed
	writes      map[string]*pending.Writes // by the id of a channel or role, or the guild's own
	hookChanges map[string]hookChanges     // by channel
	hookDoubts  map[string]hookDoubt       // by channel
	goneAt      time.Time                  // when the Gateway last took the guild away

	heard   time.Time // when its last event came
	awaited time.Time // when an event of an own write has to have come at the latest; zero for none
	silent  bool      // none came, and none since: the Gateway does not follow the guild any more
}

// change is a change of a channel, by an event or an own write; a nil channel was deleted.
type change struct {
	at      time.Time
	id      string
	channel *discordclient.Channel
}

func newGuildState(st *Store, id string) *guildState {
	g := &guildState{
		store: st, id: id, since: time.Now(), tombstones: map[string]time.Time{}, writes: map[string]*pending.Writes{},
		hookChanges: map[string]hookChanges{}, hookDoubts: map[string]hookDoubt{},
	}
	g.view = &View{store: st, id: id}
	g.view.current.Store(&Snapshot{Guild: discordclient.Guild{ID: id}, selfID: st.selfID})
	return g
}

func (g *guildState) snap() *Snapshot { return g.view.current.Load() }

// update replaces the snapshot with a changed copy.
func (g *guildState) update(f func(*Snapshot)) {
	s := *g.snap()
	f(&s)
	g.view.current.Store(&s)
}

// setChannel puts a channel into the view; it reports whether that changed anything.
func (g *guildState) setChannel(channel *discordclient.Channel, at time.Time) bool {
	if _, gone := g.tombstones[channel.ID]; gone {
		return false
	}
	g.remember(change{at, channel.ID, channel})
	s := g.snap()
	i, found := s.find(channel.ID)
	channel = s.placed(channel)
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
	if channel.Hidden { // no event says when its webhooks change
		g.forgetHooks(channel.ID)
	}
	return true
}

// markFresh ends the staleness of the view.
func (g *guildState) markFresh() {
	g.stale = time.Time{}
	g.update(func(s *Snapshot) { s.staleSince = time.Time{} })
}

// dropChannel takes a channel out of the view for good. Children of a category are then in none,
// which is reported here: the events of theirs that follow change nothing any more.
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
	delete(g.hookDoubts, id)
	return true
}

// await expects an event of an own write that was begun at a moment, unless one has come since, or none
// is expected any more.
func (g *guildState) await(began time.Time) {
	if g.live && !g.silent && g.heard.Before(began) && g.awaited.IsZero() {
		g.awaited = time.Now().Add(g.store.EventTimeout)
		g.store.Wake()
	}
}

// doubt handles that an event that was awaited has not come, though the Gateway is connected: until
// one comes, the guild is read as often as without the Gateway. What was missed is so old that one
// reading surely has it.
func (g *guildState) doubt() {
	began, stale := g.awaited.Add(-g.store.EventTimeout), g.stale
	g.awaited, g.silent = time.Time{}, true
	g.store.Log.Warn("the Discord Gateway has sent no event of an own change; reading the guild instead", "guild", g.id)
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

// remember records a change and forgets old ones.
func (g *guildState) remember(last change) {
	g.recent = append(g.recent, last)
	if old := slices.IndexFunc(g.recent, func(r change) bool { return last.at.Sub(r.at) < memory }); old > 256 {
		g.recent = slices.Clone(g.recent[old:])
	}
}

// complete takes what was not sent with the settings as it was: every guild has roles.
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

// setGuild replaces the settings; it reports whether that changed anything.
func (g *guildState) setGuild(guild discordclient.Guild, at time.Time) bool {
	g.guildAt, guild = at, g.complete(guild)
	if reflect.DeepEqual(g.snap().Guild, guild) {
		return false
	}
	g.update(func(s *Snapshot) { s.Guild = guild })
	return true
}

// setChannels replaces all channels by a list that is newer than since, and then puts the changes
// on top that came after overlay, since it may or may not have them. What differs from before is
// reported to subscribers.
func (g *guildState) setChannels(list []*discordclient.Channel, since, overlay time.Time) {
	byID := make(map[string]*discordclient.Channel, len(list))
	before := g.snap()
	for _, channel := range list {
		byID[channel.ID] = before.placed(channel)
	}
	followed := since // what the list has and the view has not is, from then on, still to come by the Gateway
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
			last.channel = placed(last.channel, listed)
		}
		last.channel = before.placed(last.channel)
		if g.live && last.at.Before(followed) && (!ok || !reflect.DeepEqual(listed, last.channel)) {
			g.store.markStale(g, consistencyDelay) // which of the two is newer will show
		}
		byID[id] = last.channel
	}
	for id, at := range g.tombstones { // what a list still has long after is there
		if at.Before(since.Add(-consistencyDelay)) {
			delete(g.tombstones, id)
		} else {
			delete(byID, id)
		}
	}
	// Snapshots have some of them already, so that none is written to.
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
	maps.DeleteFunc(g.hookDoubts, func(id string, _ hookDoubt) bool { return byID[id] == nil })
	g.emitDifferences(before.channels, after)
}

// lastChanges returns the last change of each channel, or of one, of those that changed after a moment.
func (g *guildState) lastChanges(after time.Time, only string) map[string]change {
	last := map[string]change{}
	for _, r := range g.recent {
		if !r.at.Before(after) && (only == "" || r.id == only) {
			last[r.id] = r
		}
	}
	return last
}

// emitDifferences emits an event for each channel that came, changed or went.
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

// setState changes presence and mode and reports it to subscribers when they differ.
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

// pendingFor returns the own writes to an object.
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
