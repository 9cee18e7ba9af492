// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

type hookChanges struct {
	last time.Time   // time of the last change, or of the start or end of an own write
	own  []time.Time // times of the own writes that still wait for their event
}

// hookRecheck describes a change of a channel's webhooks by another client. A list that equals the
// webhooks in before may be outdated.
type hookRecheck struct {
	at     time.Time
	before []discordclient.Webhook
	same   bool // whether a list after the change equals before
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

// WebhooksListed records a list requested at since. It makes a channel's webhooks unknown if they
// changed after since, or if the channel is hidden, because no event then reports their changes.
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
				i, there := g.snap().find(id)
				if there && !g.snap().channels[i].Hidden && g.hookChanges[id].last.Before(since) {
					known[id] = hookList{hooks: list, listed: since}
					g.hooksCompared(id, list, since)
				} else {
					delete(known, id)
				}
			}
		})
	})
}

func (g *guildState) hooksChanged(channelID string) {
	recheck, known := g.hookRechecks[channelID]
	if list, listed := g.snap().hooks[channelID]; listed {
		recheck.before, known = list.hooks, true
	}
	if known {
		g.hookRechecks[channelID] = hookRecheck{at: time.Now(), before: recheck.before}
	}
	g.forgetHooks(channelID)
}

func (g *guildState) hooksCompared(channelID string, list []discordclient.Webhook, since time.Time) {
	recheck, ok := g.hookRechecks[channelID]
	if !ok {
		return
	}
	same := slices.EqualFunc(recheck.before, list, func(a, b discordclient.Webhook) bool {
		return a.ID == b.ID && a.Name == b.Name
	})
	if !same || since.Sub(recheck.at) >= consistencyDelay {
		delete(g.hookRechecks, channelID)
		return
	}
	recheck.same = true
	g.hookRechecks[channelID] = recheck
	g.store.Wake()
}

// recheckHooks forgets lists that did not show a change within consistencyDelay. It returns the
// time of the next check, or zero for none.
func (g *guildState) recheckHooks(now time.Time) (next time.Time) {
	for channelID, recheck := range g.hookRechecks {
		due := recheck.at.Add(consistencyDelay)
		switch {
		case !recheck.same:
		case !now.Before(due):
			delete(g.hookRechecks, channelID)
			g.forgetHooks(channelID)
			g.store.emit(EventWebhooks, g.id, channelID)
		case next.IsZero() || due.Before(next):
			next = due
		}
	}
	return next
}

// KeepWebhook adds a webhook to the known webhooks of its channel.
func (st *Store) KeepWebhook(hook discordclient.Webhook) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if g := st.owner(hook.ChannelID); g != nil {
		g.webhookWritten(hook.ChannelID, hook.ID, hook, discordclient.ClassNone)
	}
}

// WriteWebhook calls do, which writes a webhook, and applies its result (empty: deleted). An empty
// channelID means the webhook's known channel. The store takes one later event for the event of
// this write.
func (st *Store) WriteWebhook(
	channelID, webhookID string, do func() (discordclient.Webhook, error),
) (discordclient.Webhook, error) {
	st.mu.Lock()
	if channelID == "" {
		channelID = st.channelOfHook(webhookID)
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
		g.expectEvent(began)
	} else if len(own) > 0 {
		own = own[:len(own)-1] // a later event then makes the store forget the list, which may lack the change
	}
	g.hookChanges[channelID] = hookChanges{time.Now(), own}
	g.webhookWritten(channelID, webhookID, hook, discordclient.ClassOf(err))
	return hook, err
}

func (st *Store) channelOfHook(webhookID string) string {
	for _, g := range st.guilds {
		for channelID, list := range g.snap().hooks {
			if slices.ContainsFunc(list.hooks, func(w discordclient.Webhook) bool { return w.ID == webhookID }) {
				return channelID
			}
		}
	}
	return ""
}

func (g *guildState) webhookWritten(
	channelID, webhookID string, hook discordclient.Webhook, class discordclient.Class,
) {
	list, known := g.snap().hooks[channelID]
	moved := hook.ID != "" && hook.ChannelID != channelID // another client has moved the webhook
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

func (g *guildState) changeHooks(change func(known map[string]hookList)) {
	known := map[string]hookList{}
	maps.Copy(known, g.snap().hooks)
	change(known)
	g.update(func(s *Snapshot) { s.hooks = known })
}

func (g *guildState) setHooks(channelID string, list hookList) {
	g.changeHooks(func(known map[string]hookList) { known[channelID] = list })
}

func (g *guildState) forgetHooks(channelID string) {
	g.changeHooks(func(known map[string]hookList) { delete(known, channelID) })
}

func (g *guildState) forgetAllHooks() {
	for channelID := range g.snap().hooks {
		g.store.emit(EventWebhooks, g.id, channelID)
	}
	g.update(func(s *Snapshot) { s.hooks = nil })
}
