package discordclient

import (
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient/permissions"
)

// owner finds the guild that has a channel in its view. The lock is held.
func (h *hub) owner(channelID string) *guildState {
	for _, g := range h.guilds {
		if _, ok := g.snap().find(channelID); ok {
			return g
		}
	}
	return nil
}

// write makes an own write to channels known to their guild: begin before it, end with the states that it led to. A
// channel that is in no view is left alone.
func (h *hub) write(do func() (map[string]*Channel, error), ids ...string) error {
	h.mu.Lock()
	echoes := map[string]*echo{}
	for _, id := range ids {
		if g := h.owner(id); g != nil && echoes[id] == nil {
			e := g.echo(id)
			e.begin()
			echoes[id] = e
		}
	}
	h.mu.Unlock()
	states, err := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for id, e := range echoes {
		c := states[id]
		if c == nil {
			e.end(nil, now)
		} else if g := h.owner(id); e.end(c, now) && g != nil {
			g.setChannel(c, now)
		}
	}
	if ClassOf(err) == ClassGone {
		h.contradicted(err, ids)
	}
	return err
}

// contradicted handles that something a write was about is not there, though the views may have it.
func (h *hub) contradicted(err error, ids []string) {
	if CodeOf(err) == CodeUnknownChannel && len(ids) == 1 {
		h.missed(ids[0])
		return
	}
	for _, id := range ids {
		if g := h.owner(id); g != nil {
			g.doubt(id)
		}
	}
}

// missed takes a channel out of the view that Discord says is not there, and has the guild read again: Discord has
// been seen to say so too early.
func (h *hub) missed(channelID string) {
	g := h.owner(channelID)
	if g == nil {
		return
	}
	i, _ := g.snap().find(channelID)
	g.update(func(s *Snapshot) { s.channels = slices.Delete(slices.Clone(s.channels), i, i+1) })
	h.emit(EventChannel, g.id, channelID) // the reading will find nothing that differs from the view
	g.doubt(channelID)
}

// channel returns a copy of a channel as the view has it.
func (h *hub) channel(id string) (Channel, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.owner(id); g != nil {
		c, _ := g.snap().Channel(id)
		return *c, true
	}
	return Channel{}, false
}

// channelIDs returns the ids of all channels in the view of a guild.
func (h *hub) channelIDs(guildID string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	if g := h.guilds[guildID]; g != nil {
		for _, c := range g.snap().channels {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// created puts a new channel into the view, unless its event came before the answer and may be newer.
func (h *hub) created(guildID string, c *Channel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guilds[guildID]
	if g == nil {
		return
	}
	if _, known := g.snap().hooks[c.ID]; !known {
		g.setHooks(c.ID, hookList{listed: time.Now()}) // a new channel has none
	}
	if _, there := g.snap().find(c.ID); there {
		return
	}
	now := time.Now()
	e := g.echo(c.ID)
	e.begin()
	e.end(c, now)
	g.setChannel(c, now)
}

// deleted takes a channel out of the view for good.
func (h *hub) deleted(channelID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.owner(channelID); g != nil {
		g.dropChannel(channelID, time.Now())
	}
}

// outdated reports whether what was asked for at since may be older than what the Gateway delivered meanwhile.
func (g *guildState) outdated(since time.Time) bool { return g.live && since.Before(g.liveAt) }

// listed takes over a complete list of channels that was asked for at since.
func (h *hub) listed(guildID string, list []*Channel, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[guildID]; g != nil && !g.outdated(since) && !since.Before(g.snap().CompleteAt) {
		overlay := since
		if g.live {
			overlay = since.Add(-settleAfter) // the list can lag behind the Gateway's events
		}
		g.setChannels(list, since, overlay)
	}
}

// read takes over settings that were asked for at since, unless they changed meanwhile.
func (h *hub) read(guild Guild, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[guild.ID]; g != nil {
		g.readGuild(guild, since)
	}
}

// readGuild takes over settings that were asked for at since. When they changed meanwhile, what was read may be older
// or newer than that: they are read again.
func (g *guildState) readGuild(guild Guild, since time.Time) {
	switch {
	case g.outdated(since):
	case !g.guildAt.Before(since):
		g.hub.suspect(g, settleAfter)
	case g.setGuild(guild, since):
		g.hub.emit(EventGuild, g.id, "")
	}
}

// refreshed notes that a guild was read as a whole, or found not to be there.
func (h *hub) refreshed(guildID string, p Presence, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guilds[guildID]
	if g == nil {
		return
	}
	g.retry = 0
	settled := g.dirty.Add(settleAfter) // what was asked for earlier may lag behind what gave cause for doubt
	if g.dirty.IsZero() || !since.Before(settled) {
		g.trust()
		g.nextPoll = time.Now().Add(h.period(g))
	} else {
		if !since.Before(g.dirty) { // otherwise there was new cause for doubt meanwhile, which has set the time
			g.nextPoll = settled
		}
		g.update(func(s *Snapshot) {
			if known := since.Add(-settleAfter); known.After(s.doubted) {
				s.doubted = known
			}
		})
	}
	if g.live {
		if p != g.snap().Presence && !g.outdated(since) { // its event was lost
			g.setState(p, ModeLive, since)
		}
	} else {
		g.update(func(s *Snapshot) {
			s.hooks = nil // nothing tells when they change
			s.baseKnown = s.baseKnown && !s.baseAt.Before(since)
		})
		g.setState(p, ModePolled, since)
	}
	h.metrics.resync("rest")
}

// guildEdit brings an own write of settings into the view.
func (h *hub) guildEdit(guildID string, do func() (Guild, error)) (Guild, error) {
	h.mu.Lock()
	since := time.Now()
	var e *echo
	if g := h.guilds[guildID]; g != nil {
		e = g.echo(guildID)
		e.begin()
	}
	h.mu.Unlock()
	guild, err := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guilds[guildID]
	if e == nil || g == nil { // not in use, or not any more
		return guild, err
	}
	if err != nil {
		e.end(nil, time.Now())
	} else if now := time.Now(); e.end(guild, now) {
		if !g.guildAt.Before(since) { // an event of settings or roles that may be newer than the answer
			h.suspect(g, settleAfter)
		}
		g.setGuild(guild, now)
	}
	if ClassOf(err) == ClassGone {
		h.suspect(g, 0)
	}
	return guild, err
}

// roles takes over a list of roles that was asked for at since, unless the guild changed meanwhile.
func (h *hub) roles(guildID string, roles []Role, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[guildID]; g != nil {
		guild := g.snap().Guild
		guild.Roles = roles
		g.readGuild(guild, since)
	}
}

// self notes who the bot is.
func (h *hub) self(userID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.selfID = userID
	for _, g := range h.guilds {
		g.update(func(s *Snapshot) { s.selfID = userID })
	}
}

// memberships notes what the bot may do in each guild, as it was asked for at since.
func (h *hub) memberships(list []Membership, since time.Time) {
	base := map[string]permissions.Bits{}
	for _, m := range list {
		base[m.ID] = m.Permissions
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, g := range h.guilds {
		bits, known := base[id]
		if since.Before(g.snap().AsOf) {
			continue
		}
		g.update(func(s *Snapshot) { s.basePerms, s.baseKnown, s.baseAt = bits, known, since })
	}
}
