package discordclient

import (
	"maps"
	"slices"
	"time"
)

// What the views know of webhooks: the lists and own writes of them. Their event is in hub_roles.go.

// hooksListed notes the webhooks of channels that were asked for at since; every one of channelIDs is known from now
// on, unless its webhooks changed meanwhile: then the list may be older or newer than the change.
func (h *hub) hooksListed(guildID string, hooks []Webhook, channelIDs []string, since time.Time) {
	byChannel := map[string][]Webhook{}
	for _, id := range channelIDs {
		byChannel[id] = nil
	}
	for _, hook := range hooks {
		byChannel[hook.ChannelID] = append(byChannel[hook.ChannelID], hook)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guilds[guildID]
	if g == nil || g.outdated(since) {
		return
	}
	g.update(func(s *Snapshot) {
		known := map[string]hookList{}
		maps.Copy(known, s.hooks)
		for id, list := range byChannel {
			if _, there := s.find(id); there && g.hookAt[id].Before(since) {
				known[id] = hookList{hooks: list, listed: since}
			} else {
				delete(known, id)
			}
		}
		s.hooks = known
	})
}

// hookWrite makes an own write to a webhook of a channel. Its event is expected, since it says no more than that
// something changed; it may come before the answer.
func (h *hub) hookWrite(channelID string, do func() error) error {
	h.mu.Lock()
	g := h.owner(channelID)
	if g != nil {
		g.hookAt[channelID] = time.Now()
		g.hookAct[channelID] = append(g.hookAct[channelID], time.Now())
	}
	h.mu.Unlock()
	err := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	if g == nil {
		return err
	}
	g.hookAt[channelID] = time.Now()
	class := ClassOf(err)
	if acts := g.hookAct[channelID]; len(acts) > 0 && err != nil { // of unknown outcome, its event is news: the list that is made meanwhile may lack it
		g.expectHooks(channelID, acts[:len(acts)-1])
	}
	if class == ClassUnknown || class == ClassGone {
		g.forgetHooks(channelID)
	}
	return err
}

// expectHooks notes which own writes to the webhooks of a channel have their events still to come.
func (g *guildState) expectHooks(channelID string, acts []time.Time) {
	if len(acts) == 0 {
		delete(g.hookAct, channelID)
	} else {
		g.hookAct[channelID] = acts
	}
}

// forgetHooks makes the webhooks of a channel unknown.
func (g *guildState) forgetHooks(channelID string) {
	g.update(func(s *Snapshot) { s.hooks = withoutKey(s.hooks, channelID) })
}

// hookChannel returns the channel that a webhook is in, empty when that is not known.
func (h *hub) hookChannel(webhookID string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.guilds {
		for channelID, list := range g.snap().hooks {
			if slices.ContainsFunc(list.hooks, func(w Webhook) bool { return w.ID == webhookID }) {
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
		for channelID, list := range g.snap().hooks {
			if i := slices.IndexFunc(list.hooks, func(w Webhook) bool { return w.ID == webhookID }); i >= 0 {
				list.hooks = slices.Delete(slices.Clone(list.hooks), i, i+1)
				g.setHooks(channelID, list)
			}
		}
	}
	if hook == nil {
		return
	}
	if g := h.owner(hook.ChannelID); g != nil {
		g.hookAt[hook.ChannelID] = time.Now()
		if list, known := g.snap().hooks[hook.ChannelID]; known {
			list.hooks = append(slices.Clone(list.hooks), *hook)
			g.setHooks(hook.ChannelID, list)
		}
	}
}

func (g *guildState) setHooks(channelID string, list hookList) {
	g.update(func(s *Snapshot) { s.hooks = withKey(s.hooks, channelID, list) })
}
