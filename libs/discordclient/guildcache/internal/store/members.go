// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"jutsu.com/operators/libs/discordclient/guildcache/internal/pending"
)

type memberEvent struct {
	GuildID string     `json:"guild_id"`
	Roles   []string   `json:"roles"`
	User    identified `json:"user"`
}

func (st *Store) onMember(event *memberEvent) error {
	if g := st.eventFor(event.GuildID); g != nil && event.User.ID == st.selfID {
		g.update(func(s *Snapshot) { s.selfRoles, s.selfKnown = event.Roles, true })
		st.emit(EventGuild, g.id, "")
	}
	return nil
}

type webhooksEvent struct {
	GuildID   string `json:"guild_id"`
	ChannelID string `json:"channel_id"`
}

// onWebhooks ignores one event for each own write in the channel. WEBHOOKS_UPDATE names no webhook,
// so the ignored event may report another client's change.
func (st *Store) onWebhooks(event *webhooksEvent) error {
	g := st.eventFor(event.GuildID)
	if g == nil {
		return nil
	}
	own := g.hookChanges[event.ChannelID].own
	for len(own) > 0 && time.Since(own[0]) > pending.Life {
		own = own[1:]
	}
	if len(own) > 0 {
		g.hookChanges[event.ChannelID] = hookChanges{time.Now(), own[1:]}
		return nil
	}
	g.hookChanges[event.ChannelID] = hookChanges{last: time.Now()}
	g.hooksChanged(event.ChannelID)
	st.emit(EventWebhooks, g.id, event.ChannelID)
	return nil
}
