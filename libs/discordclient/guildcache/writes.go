package guildcache

import (
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// owner finds the guild that has a channel in its view. The lock is held.
func (c *cache) owner(channelID string) *guildState {
	for _, g := range c.guilds {
		if _, ok := g.snap().find(channelID); ok {
			return g
		}
	}
	return nil
}

// write makes an own write to channels known to their guild: begin before it, end with the states that it led to. A
// channel that is in no view is left alone.
func (c *cache) write(do func() (map[string]*discordclient.Channel, error), ids ...string) error {
	c.mu.Lock()
	pending := map[string]*pendingWrites{}
	for _, id := range ids {
		if g := c.owner(id); g != nil && pending[id] == nil {
			pending[id] = g.pendingFor(id)
			pending[id].begin()
		}
	}
	c.mu.Unlock()
	states, err := do()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for id, p := range pending {
		channel := states[id]
		if channel == nil {
			p.end(nil, now)
		} else if g := c.owner(id); p.end(channel, now) && g != nil {
			g.setChannel(channel, now)
		}
	}
	if discordclient.ClassOf(err) == discordclient.ClassGone {
		c.contradicted(err, ids)
	}
	return err
}

// contradicted handles that something a write was about is not there, though the views may have it.
func (c *cache) contradicted(err error, ids []string) {
	if discordclient.CodeOf(err) == discordclient.CodeUnknownChannel && len(ids) == 1 {
		c.invalidate(ids[0])
		return
	}
	for _, id := range ids {
		if g := c.owner(id); g != nil {
			g.invalidate(id)
		}
	}
}

// invalidate takes a channel out of the view that Discord says is not there, and has the guild read again: Discord has
// been seen to say so too early.
func (c *cache) invalidate(channelID string) {
	g := c.owner(channelID)
	if g == nil {
		return
	}
	i, _ := g.snap().find(channelID)
	g.update(func(s *Snapshot) { s.channels = slices.Delete(slices.Clone(s.channels), i, i+1) })
	c.emit(EventChannel, g.id, channelID) // the poll will find nothing that differs from the view
	g.invalidate(channelID)
}

// channel returns a copy of a channel as the view has it.
func (c *cache) channel(id string) (discordclient.Channel, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.owner(id); g != nil {
		channel, _ := g.snap().Channel(id)
		return *channel, true
	}
	return discordclient.Channel{}, false
}

// created puts a new channel into the view, unless its event came before the answer and may be newer.
func (c *cache) created(guildID string, channel *discordclient.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guilds[guildID]
	if g == nil {
		return
	}
	if _, known := g.snap().hooks[channel.ID]; !known {
		g.setHooks(channel.ID, hookList{listed: time.Now()}) // a new channel has none
	}
	if _, there := g.snap().find(channel.ID); there {
		return
	}
	now := time.Now()
	p := g.pendingFor(channel.ID)
	p.begin()
	p.end(channel, now)
	g.setChannel(channel, now)
}

// deleted takes a channel out of the view for good.
func (c *cache) deleted(channelID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.owner(channelID); g != nil {
		g.dropChannel(channelID, time.Now())
	}
}

// outdated reports whether what was asked for at since may be older than what the Gateway delivered meanwhile.
func (g *guildState) outdated(since time.Time) bool { return g.live && since.Before(g.liveAt) }

// listed takes over a complete list of channels that was asked for at since.
func (c *cache) listed(guildID string, list []*discordclient.Channel, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[guildID]; g != nil && !g.outdated(since) && !since.Before(g.snap().CompleteAt) {
		overlay := since
		if g.live {
			overlay = since.Add(-consistencyDelay) // the list can lag behind the Gateway's events
		}
		g.setChannels(list, since, overlay)
	}
}

// read takes over settings that were asked for at since, unless they changed meanwhile.
func (c *cache) read(guild discordclient.Guild, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[guild.ID]; g != nil {
		g.readGuild(guild, since)
	}
}

// readGuild takes over settings that were asked for at since. When they changed meanwhile, what was read may be older
// or newer than that: they are read again.
func (g *guildState) readGuild(guild discordclient.Guild, since time.Time) {
	switch {
	case g.outdated(since):
	case !g.guildAt.Before(since):
		g.cache.markStale(g, consistencyDelay)
	case g.setGuild(guild, since):
		g.cache.emit(EventGuild, g.id, "")
	}
}

// refreshed records that a guild was read as a whole, or found not to be there.
func (c *cache) refreshed(guildID string, p Presence, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guilds[guildID]
	if g == nil {
		return
	}
	g.retry = 0
	consistent := g.stale.Add(consistencyDelay) // what was asked for earlier may lag behind what made the view stale
	if g.stale.IsZero() || !since.Before(consistent) {
		g.markFresh()
		g.nextPoll = time.Now().Add(c.period(g))
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
			s.baseKnown = s.baseKnown && !s.baseAt.Before(since)
		})
		g.setState(p, ModePolled, since)
	}
	c.metrics.resyncs.WithLabelValues("rest").Inc()
}

// guildEdit brings an own write of settings into the view.
func (c *cache) guildEdit(guildID string, do func() (discordclient.Guild, error)) (discordclient.Guild, error) {
	c.mu.Lock()
	since := time.Now()
	var p *pendingWrites
	if g := c.guilds[guildID]; g != nil {
		p = g.pendingFor(guildID)
		p.begin()
	}
	c.mu.Unlock()
	guild, err := do()
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guilds[guildID]
	if p == nil || g == nil { // not in use, or not any more
		return guild, err
	}
	if err != nil {
		p.end(nil, time.Now())
	} else if now := time.Now(); p.end(guild, now) {
		if !g.guildAt.Before(since) { // an event of settings or roles that may be newer than the answer
			c.markStale(g, consistencyDelay)
		}
		g.setGuild(guild, now)
	}
	if discordclient.ClassOf(err) == discordclient.ClassGone {
		c.markStale(g, 0)
	}
	return guild, err
}

// roles takes over a list of roles that was asked for at since, unless the guild changed meanwhile.
func (c *cache) roles(guildID string, roles []discordclient.Role, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[guildID]; g != nil {
		guild := g.snap().Guild
		guild.Roles = roles
		g.readGuild(guild, since)
	}
}

// self records who the bot is.
func (c *cache) self(userID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.selfID = userID
	for _, g := range c.guilds {
		g.update(func(s *Snapshot) { s.selfID = userID })
	}
}

// memberships records what the bot may do in each guild, as it was asked for at since.
func (c *cache) memberships(list []discordclient.Membership, since time.Time) {
	base := map[string]permissions.Bits{}
	for _, m := range list {
		base[m.ID] = m.Permissions
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, g := range c.guilds {
		bits, known := base[id]
		if since.Before(g.snap().AsOf) {
			continue
		}
		g.update(func(s *Snapshot) { s.basePerms, s.baseKnown, s.baseAt = bits, known, since })
	}
}
