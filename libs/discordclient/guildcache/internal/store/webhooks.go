package store

import (
	"maps"
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// What the views know of webhooks: the lists and own writes of them. Their event is in members.go.

// ChannelIDs returns the ids of all channels in the view of a guild.
func (st *Store) ChannelIDs(guildID string) (ids []string) {
	st.with(guildID, func(g *guildState) {
		for _, channel := range g.snap().channels {
			ids = append(ids, channel.ID)
		}
	})
	return ids
}

// WebhooksListed records the webhooks of channels that were asked for at since; every one of
// channelIDs is known from now on, unless its webhooks changed meanwhile: then the list may be
// older or newer than the change.
func (st *Store) WebhooksListed(guildID string, hooks []discordclient.Webhook, channelIDs []string, since time.Time) {
	byChannel := map[string][]discordclient.Webhook{}
	for _, id := range channelIDs {
		byChannel[id] = nil
	}
	for _, hook := range hooks {
		byChannel[hook.ChannelID] = append(byChannel[hook.ChannelID], hook)
	}
	st.with(guildID, func(g *guildState) {
		if g.outdated(since) {
			return
		}
		known := map[string]hookList{}
		maps.Copy(known, g.snap().hooks)
		for id, list := range byChannel {
			if _, there := g.snap().find(id); there && g.hooksChanged[id].Before(since) {
				known[id] = hookList{hooks: list, listed: since}
			} else {
				delete(known, id)
			}
		}
		g.update(func(s *Snapshot) { s.hooks = known })
	})
}

// WriteWebhook makes an own write to a webhook of a channel. Its event is expected, since it says
// no more than that something changed; it may come before the answer.
func (st *Store) WriteWebhook(channelID string, do func() error) error {
	st.mu.Lock()
	g := st.owner(channelID)
	if g != nil {
		g.hooksChanged[channelID] = time.Now()
		g.pendingHooks[channelID] = append(g.pendingHooks[channelID], time.Now())
	}
	st.mu.Unlock()
	err := do()
	st.mu.Lock()
	defer st.mu.Unlock()
	if g == nil {
		return err
	}
	g.hooksChanged[channelID] = time.Now()
	if own := g.pendingHooks[channelID]; len(own) > 0 && err != nil {
		g.expectHooks(channelID, own[:len(own)-1]) // should it come after all, a list made meanwhile may lack the change
	}
	if class := discordclient.ClassOf(err); class == discordclient.ClassUnknown || class == discordclient.ClassGone {
		g.forgetHooks(channelID)
	}
	return err
}

// expectHooks records which own writes to the webhooks of a channel have their events still to
// come.
func (g *guildState) expectHooks(channelID string, own []time.Time) {
	if len(own) == 0 {
		delete(g.pendingHooks, channelID)
	} else {
		g.pendingHooks[channelID] = own
	}
}

// forgetHooks makes the webhooks of a channel unknown.
func (g *guildState) forgetHooks(channelID string) {
	g.update(func(s *Snapshot) { s.hooks = withoutKey(s.hooks, channelID) })
}

// forgetAllHooks makes all webhooks of a guild unknown, since they may have changed while the
// Gateway was not connected. The events of own writes that have not come went to the session
// before: the next one is another client's.
func (g *guildState) forgetAllHooks() {
	for channelID := range g.snap().hooks {
		g.store.emit(EventWebhooks, g.id, channelID)
	}
	clear(g.pendingHooks)
	g.update(func(s *Snapshot) { s.hooks = nil })
}

// ChannelOfWebhook returns the channel that a webhook is in, empty when that is not known.
func (st *Store) ChannelOfWebhook(webhookID string) string {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, g := range st.guilds {
		for channelID, list := range g.snap().hooks {
			if slices.ContainsFunc(list.hooks, func(w discordclient.Webhook) bool { return w.ID == webhookID }) {
				return channelID
			}
		}
	}
	return ""
}

// WebhookWritten takes over the new state of a webhook, with a nil one its end, where the webhooks
// of its channel are known.
func (st *Store) WebhookWritten(webhookID string, hook *discordclient.Webhook) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, g := range st.guilds {
		for channelID, list := range g.snap().hooks {
			if i := slices.IndexFunc(list.hooks, func(w discordclient.Webhook) bool { return w.ID == webhookID }); i >= 0 {
				list.hooks = slices.Delete(slices.Clone(list.hooks), i, i+1)
				g.setHooks(channelID, list)
			}
		}
	}
	if hook == nil {
		return
	}
	if g := st.owner(hook.ChannelID); g != nil {
		g.hooksChanged[hook.ChannelID] = time.Now()
		if list, known := g.snap().hooks[hook.ChannelID]; known {
			list.hooks = append(slices.Clone(list.hooks), *hook)
			g.setHooks(hook.ChannelID, list)
		}
	}
}

func (g *guildState) setHooks(channelID string, list hookList) {
	g.update(func(s *Snapshot) { s.hooks = withKey(s.hooks, channelID, list) })
}
