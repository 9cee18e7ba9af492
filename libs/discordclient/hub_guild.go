package discordclient

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// How long changes are remembered: longer than any list of channels or session can be under way.
const (
	memory        = 2 * time.Minute
	tombstoneLife = 10 * time.Minute
	// settleAfter is how soon a view is read again whose snapshot disagreed with an own write made while it came.
	settleAfter = 5 * time.Second
)

// guildState is what the hub knows of one guild. All methods expect the hub's lock to be held.
type guildState struct {
	hub      *hub
	id       string
	view     *View
	wanted   bool
	since    time.Time // when it was first heard of
	live     bool      // the current session delivered it and follows it
	liveAt   time.Time // when it did: what was asked for before may be older
	dirty    time.Time // the last cause to read it again, though live; zero for none
	nextPoll time.Time
	retry    time.Duration // the last pause after a reading that failed; 0 after one that did not

	recent  []change               // the last changes of channels, oldest first
	tombs   map[string]time.Time   // deleted channels: what still comes for them is old news
	guildAt time.Time              // when its settings last changed
	echoes  map[string]*echo       // by the id of a channel, or the guild's own
	hookAct map[string][]time.Time // by channel: own writes to its webhooks whose events are still to come
	hookAt  map[string]time.Time   // by channel: when its webhooks last changed, or an own write to them began or ended
	goneAt  time.Time              // when the Gateway last took the guild away
}

// change is a change of a channel, by an event or an own write; a nil channel was deleted.
type change struct {
	at      time.Time
	id      string
	channel *Channel
}

func newGuildState(h *hub, id string) *guildState {
	g := &guildState{
		hub: h, id: id, since: time.Now(), tombs: map[string]time.Time{}, echoes: map[string]*echo{},
		hookAct: map[string][]time.Time{}, hookAt: map[string]time.Time{},
	}
	g.view = &View{hub: h}
	g.view.current.Store(&Snapshot{Guild: Guild{ID: id}, selfID: h.selfID})
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
func (g *guildState) setChannel(c *Channel, at time.Time) bool {
	if _, gone := g.tombs[c.ID]; gone {
		return false
	}
	g.remember(change{at, c.ID, c})
	s := g.snap()
	i, found := s.find(c.ID)
	if found && reflect.DeepEqual(s.channels[i], c) {
		return false
	}
	g.update(func(s *Snapshot) {
		s.channels = slices.Clone(s.channels)
		if found {
			s.channels[i] = c
		} else {
			s.channels = slices.Insert(s.channels, i, c)
		}
	})
	return true
}

// trust ends the doubt about the view.
func (g *guildState) trust() {
	g.dirty = time.Time{}
	g.update(func(s *Snapshot) { s.doubted = time.Time{} })
}

// dropChannel takes a channel out of the view for good. Children of a category are then in none, which is told here: the events of theirs that follow
// change nothing any more.
func (g *guildState) dropChannel(id string, at time.Time) bool {
	g.tombs[id] = at
	g.remember(change{at, id, nil})
	i, found := g.snap().find(id)
	if !found {
		return false
	}
	var orphans []string
	g.update(func(s *Snapshot) {
		s.channels = slices.Delete(slices.Clone(s.channels), i, i+1)
		for j, c := range s.channels {
			if c.ParentID == id {
				orphan := *c
				orphan.ParentID = ""
				s.channels[j] = &orphan
				g.remember(change{at, c.ID, &orphan})
				orphans = append(orphans, c.ID)
			}
		}
		s.hooks = withoutKey(s.hooks, id)
	})
	for _, orphan := range orphans {
		g.hub.emit(EventChannel, g.id, orphan)
	}
	delete(g.hookAt, id)
	delete(g.hookAct, id)
	return true
}

// doubt forgets what is remembered of a channel, since Discord contradicted it, and has the guild read again.
func (g *guildState) doubt(id string) {
	g.recent = slices.DeleteFunc(g.recent, func(r change) bool { return r.id == id })
	g.hub.suspect(g, 0)
}

// remember notes a change and forgets old ones.
func (g *guildState) remember(c change) {
	g.recent = append(g.recent, c)
	if old := slices.IndexFunc(g.recent, func(r change) bool { return c.at.Sub(r.at) < memory }); old > 256 {
		g.recent = slices.Clone(g.recent[old:])
	}
	if len(g.tombs) > 256 {
		maps.DeleteFunc(g.tombs, func(_ string, at time.Time) bool { return c.at.Sub(at) > tombstoneLife })
	}
}

// setGuild replaces the settings; it reports whether that changed anything.
func (g *guildState) setGuild(guild Guild, at time.Time) bool {
	g.guildAt = at
	if reflect.DeepEqual(g.snap().Guild, guild) {
		return false
	}
	g.update(func(s *Snapshot) { s.Guild = guild })
	return true
}

// setChannels replaces all channels by a list that is newer than since, and then puts the changes on top that came
// after overlay, since it may or may not have them. What differs from before is told to subscribers.
func (g *guildState) setChannels(list []*Channel, since, overlay time.Time) {
	byID := make(map[string]*Channel, len(list))
	for _, c := range list {
		byID[c.ID] = c
	}
	for id, c := range g.lastChanges(overlay) {
		if c == nil {
			delete(byID, id)
			continue
		}
		if listed, ok := byID[id]; g.live && (!ok || !reflect.DeepEqual(listed, c)) {
			g.hub.suspect(g, settleAfter) // which of the two is newer will show
		}
		byID[id] = c
	}
	for id := range g.tombs {
		delete(byID, id)
	}
	before := g.snap()
	after := slices.SortedFunc(maps.Values(byID), func(a, b *Channel) int { return CompareIDs(a.ID, b.ID) })
	g.update(func(s *Snapshot) {
		s.channels, s.CompleteAt = after, since
		s.hooks = maps.Clone(s.hooks)
		maps.DeleteFunc(s.hooks, func(id string, _ hookList) bool { return byID[id] == nil })
	})
	maps.DeleteFunc(g.hookAt, func(id string, _ time.Time) bool { return byID[id] == nil })
	maps.DeleteFunc(g.hookAct, func(id string, _ []time.Time) bool { return byID[id] == nil })
	g.tellDifferences(before.channels, after)
}

// lastChanges returns what each channel changed into last, of those that changed after a moment.
func (g *guildState) lastChanges(after time.Time) map[string]*Channel {
	last := map[string]*Channel{}
	for _, r := range g.recent {
		if !r.at.Before(after) {
			last[r.id] = r.channel
		}
	}
	return last
}

// tellDifferences emits an event for each channel that came, changed or went.
func (g *guildState) tellDifferences(before, after []*Channel) {
	old := make(map[string]*Channel, len(before))
	for _, c := range before {
		old[c.ID] = c
	}
	for _, c := range after {
		if !reflect.DeepEqual(old[c.ID], c) {
			g.hub.emit(EventChannel, g.id, c.ID)
		}
		delete(old, c.ID)
	}
	for id := range old {
		g.hub.emit(EventChannel, g.id, id)
	}
}

// setState changes presence and mode and tells subscribers when they differ.
func (g *guildState) setState(p Presence, m Mode, asOf time.Time) {
	s := g.snap()
	changed := s.Presence != p || s.Mode != m
	g.update(func(s *Snapshot) {
		s.Presence, s.Mode, s.AsOf = p, m, asOf
		if p == PresenceAbsent {
			s.channels, s.hooks = nil, nil
		}
	})
	if changed {
		g.hub.emit(EventGuild, g.id, "")
	}
}

// echo returns the memory of own writes to an object.
func (g *guildState) echo(id string) *echo {
	e := g.echoes[id]
	if e == nil {
		if len(g.echoes) > 256 {
			maps.DeleteFunc(g.echoes, func(_ string, e *echo) bool { return e.idle(time.Now()) })
		}
		e = &echo{}
		g.echoes[id] = e
	}
	return e
}

// The two below change copies: maps in a snapshot are never changed.

func withKey[V any](m map[string]V, key string, value V) map[string]V {
	if m = maps.Clone(m); m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

func withoutKey[V any](m map[string]V, key string) map[string]V {
	if _, ok := m[key]; !ok {
		return m
	}
	m = maps.Clone(m)
	delete(m, key)
	return m
}
