// SPDX-License-Identifier: Apache-2.0

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

// WriteWebhook makes an own write to a webhook of a channel (empty: the one that the webhook is in)
// and takes over its new state, with an empty one its end. Its event is expected, since it says no
// more than that something changed; it may come before the answer.
func (st *Store) WriteWebhook(
	channelID, webhookID string, do func() (discordclient.Webhook, error),
) (discordclient.Webhook, error) {
	st.mu.Lock()
	if channelID == "" {
		_, channelID, _ = st.holder(webhookID)
	}
	g := st.owner(channelID)
	if g != nil {
		g.hooksChanged[channelID] = time.Now()
		g.pendingHooks[channelID] = append(g.pendingHooks[channelID], time.Now())
	}
	st.mu.Unlock()
	hook, err := do()
	st.mu.Lock()
	defer st.mu.Unlock()
	if err == nil {
		st.webhookWritten(webhookID, hook)
	}
	if g == nil {
		return hook, err
	}
	g.hooksChanged[channelID] = time.Now()
	if own := g.pendingHooks[channelID]; len(own) > 0 && err != nil {
		g.expectHooks(channelID, own[:len(own)-1]) // should it come after all, a list made meanwhile may lack the change
	}
	if class := discordclient.ClassOf(err); class == discordclient.ClassUnknown || class == discordclient.ClassGone {
		g.forgetHooks(channelID)
	}
	return hook, err
}

// holder finds the channel in whose list a webhook is. The lock is held.
func (st *Store) holder(webhookID string) (g *guildState, channelID string, i int) {
	for _, g := range st.guilds {
		for channelID, list := range g.snap().hooks {
			i := slices.IndexFunc(list.hooks, func(w discordclient.Webhook) bool { return w.ID == webhookID })
			if i >= 0 {
				return g, channelID, i
			}
		}
	}
	return nil, "", 0
}

// webhookWritten takes over the new state of a webhook where those of its channel are known.
func (st *Store) webhookWritten(webhookID string, hook discordclient.Webhook) {
	if g, channelID, i := st.holder(webhookID); g != nil {
		list := g.snap().hooks[channelID]
		list.hooks = slices.Delete(slices.Clone(list.hooks), i, i+1)
		g.setHooks(channelID, list)
	}
	if g := st.owner(hook.ChannelID); g != nil {
		g.hooksChanged[hook.ChannelID] = time.Now()
		if list, known := g.snap().hooks[hook.ChannelID]; known {
			list.hooks = append(slices.Clone(list.hooks), hook)
			g.setHooks(hook.ChannelID, list)
		}
	}
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

func (g *guildState) setHooks(channelID string, list hookList) {
	g.update(func(s *Snapshot) { s.hooks = withKey(s.hooks, channelID, list) })
}
