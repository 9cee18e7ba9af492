// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// What the views know of webhooks: the lists and own writes of them. Their event is in members.go.

// hookChanges are the changes of the webhooks of a channel.
type hookChanges struct {
	last time.Time   // when they last changed, or an own write began or ended
	own  []time.Time // the own writes whose events are still to come
}

// hookDoubt says that other clients changed webhooks of a channel, and what was listed before. A list
// that still shows the same may be as late as any read.
type hookDoubt struct {
	at     time.Time
	before []discordclient.Webhook
	same   bool // a list after the change shows the same
}

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
		g.changeHooks(func(known map[string]hookList) {
			for id, list := range byChannel {
				if _, there := g.snap().find(id); there && g.hookChanges[id].last.Before(since) {
					known[id] = hookList{hooks: list, listed: since}
					g.hooksCompared(id, list, since)
				} else {
					delete(known, id)
				}
			}
		})
	})
}

// hooksChanged makes the webhooks of a channel unknown, which other clients have changed.
func (g *guildState) hooksChanged(channelID string) {
	doubt, known := g.hookDoubts[channelID]
	if list, listed := g.snap().hooks[channelID]; listed {
		doubt.before, known = list.hooks, true
	}
	if known {
		g.hookDoubts[channelID] = hookDoubt{at: time.Now(), before: doubt.before}
	}
	g.forgetHooks(channelID)
}

// hooksCompared compares a list of the webhooks of a channel with the one before their last change.
func (g *guildState) hooksCompared(channelID string, list []discordclient.Webhook, since time.Time) {
	doubt, ok := g.hookDoubts[channelID]
	if !ok {
		return
	}
	same := slices.EqualFunc(doubt.before, list, func(a, b discordclient.Webhook) bool {
		return a.ID == b.ID && a.Name == b.Name
	})
	if !same || since.Sub(doubt.at) >= consistencyDelay {
		delete(g.hookDoubts, channelID)
		return
	}
	doubt.same = true
	g.hookDoubts[channelID] = doubt
	g.store.Wake()
}

// doubtHooks has webhooks read again whose list was the same right after a change, once all of
// Discord surely shows that. It returns when the next ones are due, the zero time for none.
func (g *guildState) doubtHooks(now time.Time) (next time.Time) {
	for channelID, doubt := range g.hookDoubts {
		due := doubt.at.Add(consistencyDelay)
		switch {
		case !doubt.same:
		case !now.Before(due):
			delete(g.hookDoubts, channelID)
			g.forgetHooks(channelID)
			g.store.emit(EventWebhooks, g.id, channelID)
		case next.IsZero() || due.Before(next):
			next = due
		}
	}
	return next
}

// KeepWebhook adds a webhook to those that are known of its channel.
func (st *Store) KeepWebhook(hook discordclient.Webhook) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if g := st.owner(hook.ChannelID); g != nil {
		g.webhookWritten(hook.ChannelID, hook.ID, hook, discordclient.ClassNone)
	}
}

// WriteWebhook makes an own write to a webhook of a channel (empty: the one that the webhook is in)
// and takes over its new state, with an empty one its end. Its event is expected, since it says no
// more than that something changed; it may come before the answer.
func (st *Store) WriteWebhook(
	channelID, webhookID string, do func() (discordclient.Webhook, error),
) (discordclient.Webhook, error) {
	st.mu.Lock()
	if channelID == "" {
		channelID = st.holder(webhookID)
	}
	g, began := st.owner(channelID), time.Now()
	if g != nil {
		g.hookChanges[channelID] = hookChanges{began, append(g.hookChanges[channelID].own, began)}
	}
	st.mu.Unlock()
	hook, err := do()
	if g == nil {
		return hook, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	own := g.hookChanges[channelID].own
	if err == nil {
		g.await(began)
	} else if len(own) > 0 {
		own = own[:len(own)-1] // should it come after all, a list made meanwhile may lack the change
	}
	g.hookChanges[channelID] = hookChanges{time.Now(), own}
	g.webhookWritten(channelID, webhookID, hook, discordclient.ClassOf(err))
	return hook, err
}

// holder finds the channel in whose list a webhook is; empty for none. The lock is held.
func (st *Store) holder(webhookID string) string {
	for _, g := range st.guilds {
		for channelID, list := range g.snap().hooks {
			if slices.ContainsFunc(list.hooks, func(w discordclient.Webhook) bool { return w.ID == webhookID }) {
				return channelID
			}
		}
	}
	return ""
}

// webhookWritten takes over the new state of a webhook, where those of its channel are known.
func (g *guildState) webhookWritten(
	channelID, webhookID string, hook discordclient.Webhook, class discordclient.Class,
) {
	list, known := g.snap().hooks[channelID]
	moved := hook.ID != "" && hook.ChannelID != channelID // by another client
	switch {
	case class == discordclient.ClassUnknown, class == discordclient.ClassGone, moved:
		g.forgetHooks(channelID)
	case class == discordclient.ClassNone && known:
		before := func(w discordclient.Webhook) bool { return w.ID == webhookID }
		list.hooks = slices.DeleteFunc(slices.Clone(list.hooks), before)
		if hook.ID != "" {
			list.hooks = append(list.hooks, hook)
		}
		g.setHooks(channelID, list)
	}
}

// changeHooks changes what is known of webhooks, in a copy: a snapshot never changes.
func (g *guildState) changeHooks(change func(known map[string]hookList)) {
	known := map[string]hookList{}
	maps.Copy(known, g.snap().hooks)
	change(known)
	g.update(func(s *Snapshot) { s.hooks = known })
}

func (g *guildState) setHooks(channelID string, list hookList) {
	g.changeHooks(func(known map[string]hookList) { known[channelID] = list })
}

// forgetHooks makes the webhooks of a channel unknown.
func (g *guildState) forgetHooks(channelID string) {
	g.changeHooks(func(known map[string]hookList) { delete(known, channelID) })
}

// forgetAllHooks makes all webhooks of a guild unknown, since they may have changed without an event
// that came.
func (g *guildState) forgetAllHooks() {
	for channelID := range g.snap().hooks {
		g.store.emit(EventWebhooks, g.id, channelID)
	}
	g.update(func(s *Snapshot) { s.hooks = nil })
}
