package discordtest

import (
	"fmt"
	"slices"
)

// Guild is a copy of everything in a guild; it panics when there is none.
func (s *Server) Guild(id string) Guild {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mustGuild(id).snapshot()
}

// Channel is a copy of a channel, and whether there is one.
func (s *Server) Channel(id string) (Channel, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ch := s.findChannel(id); ch != nil {
		return ch.clone(), true
	}
	return Channel{}, false
}

// The methods below do what a person with all rights does in the Discord app: no permissions, no rate limits, the same
// events and audit log entries. They panic when what they name is not there: a mistake in the test.

// CreateChannelByHand makes a channel; ID is filled in, an empty Name is not. It returns the id.
func (s *Server) CreateChannelByHand(guildID string, ch Channel) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(guildID)
	made := ch.clone()
	made.GuildID = g.ID
	if made.Overwrites == nil && made.ParentID != "" {
		made.Overwrites = slices.Clone(g.channels[made.ParentID].Overwrites)
	}
	s.insertChannel(g, &made)
	s.log(g, AuditEntry{Action: auditChannelCreate, UserID: g.OwnerID, TargetID: made.ID, Changes: []Change{{Key: "name", New: made.Name}}})
	return made.ID
}

// EditChannelByHand changes a channel as edit says. Names are taken as they are: old and localised guilds hold names
// that Discord would not give today.
func (s *Server) EditChannelByHand(id string, edit func(*Channel)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ch := s.mustChannel(id)
	after := ch.clone()
	edit(&after)
	after.ID, after.GuildID = ch.ID, ch.GuildID
	s.logUpdate(g, g.OwnerID, ch, &after, "")
	s.replaceChannel(g, ch, after)
}

// DeleteChannelByHand deletes a channel or a category with all side effects.
func (s *Server) DeleteChannelByHand(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ch := s.mustChannel(id)
	s.log(g, AuditEntry{Action: auditChannelDelete, UserID: g.OwnerID, TargetID: ch.ID, Changes: []Change{{Key: "name", Old: ch.Name}}})
	s.removeChannel(g, ch)
}

// mustChannel finds a channel or panics.
func (s *Server) mustChannel(id string) (*guild, *Channel) {
	g, ch := s.findChannel(id)
	if ch == nil {
		panic(fmt.Sprintf("discordtest: no channel %q", id))
	}
	return g, ch
}

// EditGuildByHand changes the settings of a guild as edit says.
func (s *Server) EditGuildByHand(id string, edit func(*Guild)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(id)
	after := g.Guild
	after.Features, after.Roles = slices.Clone(g.Features), slices.Clone(g.Roles)
	edit(&after)
	after.ID = g.ID
	s.replaceGuild(g, after, g.OwnerID, "")
}

// CreateWebhookByHand makes a webhook that belongs to no application; returns it with its token.
func (s *Server) CreateWebhookByHand(channelID, name string) Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ch := s.mustChannel(channelID)
	w := &Webhook{ID: s.newID(), GuildID: g.ID, ChannelID: ch.ID, Name: name, Token: s.secret(68), CreatorID: g.OwnerID}
	g.webhooks[w.ID] = w
	s.webhookChanged(g, ch.ID, AuditEntry{Action: auditWebhookCreate, UserID: g.OwnerID, TargetID: w.ID})
	return *w
}

// DeleteWebhookByHand deletes a webhook.
func (s *Server) DeleteWebhookByHand(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, w := s.findWebhook(id)
	if w == nil {
		panic(fmt.Sprintf("discordtest: no webhook %q", id))
	}
	delete(g.webhooks, id)
	s.webhookChanged(g, w.ChannelID, AuditEntry{Action: auditWebhookDelete, UserID: g.OwnerID, TargetID: id})
}

// PostByHand writes a message as a person; returns its id.
func (s *Server) PostByHand(channelID, userID, content string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ch := s.mustChannel(channelID)
	m := &Message{ChannelID: ch.ID, AuthorID: userID, Content: content}
	if u := s.users[userID]; u != nil {
		m.AuthorName, m.AuthorIsBot = u.Name, u.Bot
	}
	s.post(g, m)
	return m.ID
}
