package discordclient

import (
	"maps"
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
	if ClassOf(err) == ClassGone && CodeOf(err) == CodeUnknownChannel && len(ids) == 1 {
		h.missed(ids[0])
	}
	return err
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
	h.suspect(g, 0)
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
		g.setHooks(c.ID, nil) // a new channel has none
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
		g.setChannels(list, since)
	}
}

// read takes over settings that were asked for at since, unless they changed meanwhile.
func (h *hub) read(guild Guild, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[guild.ID]; g != nil && !g.outdated(since) && g.guildAt.Before(since) && g.setGuild(guild, since) {
		h.emit(EventGuild, g.id, "")
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
	if !since.Before(g.dirty) { // otherwise there was new cause for doubt meanwhile
		g.dirty, g.nextPoll = time.Time{}, time.Now().Add(h.resync)
	}
	if !g.live {
		g.setState(p, ModePolled, since)
	}
	h.metrics.resync("rest")
}

// guildEdit brings an own write of settings into the view.
func (h *hub) guildEdit(guildID string, do func() (Guild, error)) (Guild, error) {
	h.mu.Lock()
	var e *echo
	if g := h.guilds[guildID]; g != nil {
		e = g.echo(guildID)
		e.begin()
	}
	h.mu.Unlock()
	guild, err := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	if e == nil {
		return guild, err
	}
	if err != nil {
		e.end(nil, time.Now())
	} else if now := time.Now(); e.end(guild, now) {
		h.guild(guildID).setGuild(guild, now)
	}
	return guild, err
}

// roles takes over a list of roles.
func (h *hub) roles(guildID string, roles []Role) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[guildID]; g != nil {
		guild := g.snap().Guild
		guild.Roles = roles
		g.setGuild(guild, time.Now())
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

// memberships notes what the bot may do in each guild.
func (h *hub) memberships(list []Membership) {
	base := map[string]permissions.Bits{}
	for _, m := range list {
		base[m.ID] = m.Permissions
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, g := range h.guilds {
		bits, known := base[id]
		g.update(func(s *Snapshot) { s.basePerms, s.baseKnown = bits, known })
	}
}

// hooksListed notes the webhooks of channels; every one of channelIDs is known from now on.
func (h *hub) hooksListed(guildID string, hooks []Webhook, channelIDs []string) {
	byChannel := map[string][]Webhook{}
	for _, id := range channelIDs {
		byChannel[id] = nil
	}
	for _, hook := range hooks {
		byChannel[hook.ChannelID] = append(byChannel[hook.ChannelID], hook)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[guildID]; g != nil {
		g.update(func(s *Snapshot) {
			maps.Copy(byChannel, withoutKeys(s.hooks, byChannel))
			s.hooks = byChannel
		})
	}
}

// hookWrite makes an own write to a webhook of a channel. Its event is expected, since it says no more than that
// something changed; it may come before the answer.
func (h *hub) hookWrite(channelID string, do func() error) error {
	h.mu.Lock()
	g := h.owner(channelID)
	if g != nil {
		g.hookAct[channelID] = append(g.hookAct[channelID], time.Now())
	}
	h.mu.Unlock()
	err := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	if acts := len(g.expected(channelID)); acts > 0 && err != nil && ClassOf(err) != ClassUnknown {
		g.hookAct[channelID] = g.hookAct[channelID][:acts-1]
	}
	return err
}

// expected returns when own writes were made whose events are still to come; nil for a nil guild.
func (g *guildState) expected(channelID string) []time.Time {
	if g == nil {
		return nil
	}
	return g.hookAct[channelID]
}

// hookChannel returns the channel that a webhook is in, empty when that is not known.
func (h *hub) hookChannel(webhookID string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.guilds {
		for channelID, hooks := range g.snap().hooks {
			if slices.ContainsFunc(hooks, func(w Webhook) bool { return w.ID == webhookID }) {
				return channelID
			}
		}
	}
	return ""
}

// hookWritten takes over the new state of a webhook, with a nil one its end, where the webhooks of its channel are known.
func (h *hub) hookWritten(webhookID string, hook *Webhook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.guilds {
		for channelID, hooks := range g.snap().hooks {
			if i := slices.IndexFunc(hooks, func(w Webhook) bool { return w.ID == webhookID }); i >= 0 {
				g.setHooks(channelID, slices.Delete(slices.Clone(hooks), i, i+1))
			}
		}
	}
	if hook == nil {
		return
	}
	if g := h.owner(hook.ChannelID); g != nil {
		if hooks, known := g.snap().hooks[hook.ChannelID]; known {
			g.setHooks(hook.ChannelID, append(slices.Clone(hooks), *hook))
		}
	}
}

func (g *guildState) setHooks(channelID string, hooks []Webhook) {
	g.update(func(s *Snapshot) {
		s.hooks = withKey(s.hooks, channelID, hooks)
	})
}
