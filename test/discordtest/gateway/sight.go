// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"maps"
	"slices"
	"strings"

	"jutsu.com/operators/test/discordtest/internal/model"
)

func (s *session) rememberChannels(g *model.GuildState) {
	for id, ch := range g.Channels {
		s.known[id] = true
		s.hidden[id] = s.gateway.discord.Hides(g, ch, s.bot.UserID)
	}
}

// channel obfuscates the events of channels that the bot may not view.
func (s *session) channel(g *model.GuildState, event string, data map[string]any) map[string]any {
	gone := &model.Channel{
		ID: data["id"].(string), GuildID: g.ID, Type: data["type"].(int), Position: data["position"].(int),
	}
	if ch := g.Channels[gone.ID]; ch != nil {
		s.hidden[ch.ID] = s.gateway.discord.Hides(g, ch, s.bot.UserID)
	}
	hidden := s.hidden[gone.ID]
	if event == "CHANNEL_DELETE" {
		delete(s.hidden, gone.ID)
	}
	switch {
	case hidden:
		return gone.Obfuscated()
	case s.gateway.opts.Compatible && event == "CHANNEL_UPDATE":
		data = maps.Clone(data)
		delete(data, "position")
	}
	return data
}

// updateSight sends CHANNEL_UPDATE for each channel that an event has hidden or revealed. An event
// of a channel can also hide or reveal a category: a bot that sees a channel sees its category.
func (s *session) updateSight(g *model.GuildState, event string, data map[string]any) {
	all := strings.HasPrefix(event, "GUILD_ROLE_") ||
		event == "GUILD_MEMBER_UPDATE" && data["user"].(map[string]any)["id"] == s.bot.UserID
	if s.intents&intentGuilds == 0 || !all && !strings.HasPrefix(event, "CHANNEL_") {
		return
	}
	var changed []*model.Channel
	for _, ch := range g.Channels {
		if (all || ch.Type == model.TypeCategory) && s.gateway.discord.Hides(g, ch, s.bot.UserID) != s.hidden[ch.ID] {
			changed = append(changed, ch)
		}
	}
	slices.SortFunc(changed, func(a, b *model.Channel) int { return model.CompareIDs(a.ID, b.ID) })
	for _, ch := range changed {
		s.dispatch("CHANNEL_UPDATE", s.channel(g, "CHANNEL_UPDATE", ch.Wire()))
	}
}

// copies returns the number of times to send an event; see Options.Compatible.
func (s *session) copies(event string, data map[string]any) int {
	changes := event == "CHANNEL_UPDATE" || event == "CHANNEL_DELETE"
	switch {
	case !s.gateway.opts.Compatible || !changes:
		return 1
	case s.known[data["id"].(string)]:
		return 2
	}
	return 0
}
