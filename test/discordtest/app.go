// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"fmt"
	"slices"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// The ByHand methods act as a Discord user with all permissions and without rate limits. They cause
// events and audit log entries, as REST calls do. They panic if the guild, channel, role or webhook
// does not exist.

// Guild returns a copy of a guild with its channels, roles, members, messages and audit log.
func (s *Server) Guild(id string) Guild {
	s.discord.Lock()
	defer s.discord.Unlock()
	return s.mustGuild(id).Snapshot()
}

// Channel returns a copy of a channel, and false if the channel does not exist.
func (s *Server) Channel(id string) (Channel, bool) {
	s.discord.Lock()
	defer s.discord.Unlock()
	if _, ch := s.discord.FindChannel(id); ch != nil {
		return ch.Clone(), true
	}
	return Channel{}, false
}

// CreateChannelByHand creates a channel and returns its id. The name may be empty.
func (s *Server) CreateChannelByHand(guildID string, ch Channel) string {
	s.discord.Lock()
	defer s.discord.Unlock()
	g := s.mustGuild(guildID)
	made := ch.Clone()
	made.GuildID = g.ID
	made.Defaults()
	if made.Overwrites == nil && made.ParentID != "" {
		made.Overwrites = slices.Clone(g.Channels[made.ParentID].Overwrites)
	}
	s.discord.InsertChannel(g, &made)
	s.discord.Log(g, AuditEntry{
		Action: model.AuditChannelCreate, UserID: g.OwnerID, TargetID: made.ID,
		Changes: []model.Change{{Key: "name", New: made.Name}},
	})
	return made.ID
}

// EditChannelByHand changes a channel. It accepts any name, because channels of old guilds may have
// names that Discord now forbids.
func (s *Server) EditChannelByHand(id string, edit func(*Channel)) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, ch := s.mustChannel(id)
	after := ch.Clone()
	edit(&after)
	after.ID, after.GuildID = ch.ID, ch.GuildID
	s.discord.IdentifyTags(&after)
	s.discord.LogUpdate(g, g.OwnerID, ch, &after, "")
	s.discord.ReplaceChannel(g, ch, after)
}

// DeleteChannelByHand deletes a channel or a category, with its webhooks and messages.
func (s *Server) DeleteChannelByHand(id string) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, ch := s.mustChannel(id)
	s.discord.Log(g, AuditEntry{
		Action: model.AuditChannelDelete, UserID: g.OwnerID, TargetID: ch.ID,
		Changes: []model.Change{{Key: "name", Old: ch.Name}},
	})
	s.discord.RemoveChannel(g, ch)
}

// CreateRoleByHand creates a role at r.Position, or at position 1 if r.Position is lower, and
// returns the role's id. Several roles may share a position.
func (s *Server) CreateRoleByHand(guildID string, r Role) string {
	s.discord.Lock()
	defer s.discord.Unlock()
	g := s.mustGuild(guildID)
	r.Position = max(r.Position, 1)
	id := s.discord.InsertRole(g, r)
	s.discord.Log(g, AuditEntry{
		Action: model.AuditRoleCreate, UserID: g.OwnerID, TargetID: id, Changes: []model.Change{{Key: "name", New: r.Name}},
	})
	return id
}

// EditRoleByHand changes a role.
func (s *Server) EditRoleByHand(guildID, roleID string, edit func(*Role)) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g := s.mustGuild(guildID)
	r := g.Role(roleID)
	if r == nil {
		panic(fmt.Sprintf("discordtest: no role %q in guild %q", roleID, guildID))
	}
	after := *r
	edit(&after)
	after.ID = r.ID
	s.discord.ReplaceRole(g, after, g.OwnerID, "")
}

// DeleteRoleByHand removes a role as [Server.DeleteRole] does, and writes an audit log entry.
func (s *Server) DeleteRoleByHand(guildID, roleID string) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g := s.mustGuild(guildID)
	r := g.Role(roleID)
	if r == nil {
		panic(fmt.Sprintf("discordtest: no role %q in guild %q", roleID, guildID))
	}
	s.discord.Log(g, AuditEntry{
		Action: model.AuditRoleDelete, UserID: g.OwnerID, TargetID: roleID,
		Changes: []model.Change{{Key: "name", Old: r.Name}},
	})
	s.discord.RemoveRole(g, roleID)
}

func (s *Server) mustChannel(id string) (*model.GuildState, *Channel) {
	g, ch := s.discord.FindChannel(id)
	if ch == nil {
		panic(fmt.Sprintf("discordtest: no channel %q", id))
	}
	return g, ch
}

// EditGuildByHand changes the settings of a guild.
func (s *Server) EditGuildByHand(id string, edit func(*Guild)) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g := s.mustGuild(id)
	after := g.Guild
	after.Features, after.Roles = slices.Clone(g.Features), slices.Clone(g.Roles)
	edit(&after)
	after.ID = g.ID
	s.discord.ReplaceGuild(g, after, g.OwnerID, "")
}

// CreateWebhookByHand creates a webhook of no application. The returned webhook has its token.
func (s *Server) CreateWebhookByHand(channelID, name string) Webhook {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, ch := s.mustChannel(channelID)
	w := &Webhook{
		ID: s.discord.NewID(), GuildID: g.ID, ChannelID: ch.ID, Name: name, Token: s.discord.Secret(68), CreatorID: g.OwnerID,
	}
	g.Webhooks[w.ID] = w
	s.discord.WroteWebhook(g, w.ID, nil)
	s.discord.WebhookChanged(g, ch.ID, AuditEntry{
		Action: model.AuditWebhookCreate, UserID: g.OwnerID, TargetID: w.ID,
	})
	return *w
}

// DeleteWebhookByHand deletes a webhook.
func (s *Server) DeleteWebhookByHand(id string) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, w := s.discord.FindWebhook(id)
	if w == nil {
		panic(fmt.Sprintf("discordtest: no webhook %q", id))
	}
	delete(g.Webhooks, id)
	s.discord.WroteWebhook(g, id, w)
	s.discord.WebhookChanged(g, w.ChannelID, AuditEntry{
		Action: model.AuditWebhookDelete, UserID: g.OwnerID, TargetID: id,
	})
}

// FillAuditLog adds n entries as if another user had created n channels. It sends no events.
func (s *Server) FillAuditLog(guildID string, n int) {
	s.discord.Lock()
	defer s.discord.Unlock()
	s.discord.Fill(s.mustGuild(guildID), s.addUser("tickets"), n)
}

// PostByHand posts a message as a user and returns its id.
func (s *Server) PostByHand(channelID, userID, content string) string {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, ch := s.mustChannel(channelID)
	m := &model.Message{ChannelID: ch.ID, AuthorID: userID, Content: content}
	if u := s.discord.Users[userID]; u != nil {
		m.AuthorName, m.AuthorIsBot = u.Name, u.Bot
	}
	s.discord.Post(g, m)
	return m.ID
}
