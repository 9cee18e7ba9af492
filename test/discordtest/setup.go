// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"errors"
	"fmt"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// The methods in this file panic if their guild, or the member that they change, does not exist.

// AddBot creates an application and its bot user. The bot is not yet a member of a guild.
func (s *Server) AddBot(b Bot) Bot {
	s.discord.Lock()
	defer s.discord.Unlock()
	return s.discord.AddBot(b)
}

// RotateToken gives a bot a new token, and ends its Gateway sessions with close code 4004.
func (s *Server) RotateToken(old string) (token string, err error) {
	s.discord.Lock()
	defer s.discord.Unlock()
	b := s.discord.Bots[old]
	if b == nil {
		return "", errors.New("rotate token: no bot has the old one")
	}
	return s.discord.ResetToken(b), nil
}

// AddUser creates a human user and returns the user id.
func (s *Server) AddUser(name string) string {
	s.discord.Lock()
	defer s.discord.Unlock()
	return s.addUser(name)
}

func (s *Server) addUser(name string) string {
	u := &model.User{ID: s.discord.NewID(), Name: name}
	s.discord.Users[u.ID] = u
	return u.ID
}

// AddGuild creates a guild without channels. Without spec.OwnerID, it also creates an owner.
func (s *Server) AddGuild(spec GuildSpec) Guild {
	s.discord.Lock()
	defer s.discord.Unlock()
	owner := spec.OwnerID
	if owner == "" {
		owner = s.addUser("owner")
	}
	if spec.Name == "" {
		spec.Name = "Test server"
	}
	if spec.ID == "" {
		spec.ID = s.discord.NewID()
	}
	if !model.IsSnowflake(spec.ID) {
		panic(fmt.Sprintf("discordtest: %q is no id: no route would find the guild", spec.ID))
	}
	return s.discord.AddGuild(spec, owner).Snapshot()
}

// AddMember adds a bot or a user to a guild. If p is not 0, the member gets a role with the
// permissions p.
func (s *Server) AddMember(guildID, userID string, p Permissions) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, u := s.mustGuild(guildID), s.discord.Users[userID]
	if u == nil {
		panic(fmt.Sprintf("discordtest: no user %s", userID))
	}
	m := &model.Member{UserID: userID, JoinedAt: s.discord.Clock.Now()}
	g.Members[userID] = m
	if p != 0 {
		own := Role{Name: u.Name, Permissions: p, Managed: u.Bot}
		if u.Bot {
			own.BotID = u.ID
		}
		m.Own = s.discord.AddRole(g, own)
		m.Roles = []string{m.Own}
	}
	s.discord.Events.Joined(g, userID)
	s.discord.OnChange()
}

// SetPermissions replaces the permissions of the role that AddMember created for a member, or of
// @everyone if userID is the guild's id.
func (s *Server) SetPermissions(guildID, userID string, p Permissions) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g := s.mustGuild(guildID)
	id := userID
	if m := g.Members[userID]; m != nil {
		id = m.Own
	}
	r := g.Role(id)
	if r == nil {
		panic("discordtest: SetPermissions: " + userID + " is no member with a role of its own: " +
			"call AddMember with permissions first")
	}
	r.Permissions = p
	s.discord.Emit(g, "GUILD_ROLE_UPDATE", map[string]any{"guild_id": g.ID, "role": r.Wire()})
}

// AddRole creates a role above all other roles of a guild and returns its id.
func (s *Server) AddRole(guildID, name string, p Permissions) string {
	s.discord.Lock()
	defer s.discord.Unlock()
	return s.discord.AddRole(s.mustGuild(guildID), Role{Name: name, Permissions: p})
}

// GiveRole gives a member a role.
func (s *Server) GiveRole(guildID, userID, roleID string) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, m := s.mustMember(guildID, userID)
	s.discord.GiveRole(g, m, roleID)
}

// TakeRole takes a role from a member.
func (s *Server) TakeRole(guildID, userID, roleID string) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, m := s.mustMember(guildID, userID)
	s.discord.TakeRole(g, m, roleID)
}

// DeleteRole deletes a role, also from overwrites and members. The order of the events is a guess.
func (s *Server) DeleteRole(guildID, roleID string) {
	s.discord.Lock()
	defer s.discord.Unlock()
	s.discord.RemoveRole(s.mustGuild(guildID), roleID)
}

// RemoveMember removes a member. A removed bot gets GUILD_DELETE without `unavailable`.
func (s *Server) RemoveMember(guildID, userID string) {
	s.discord.Lock()
	defer s.discord.Unlock()
	g, m := s.mustMember(guildID, userID)
	s.discord.RemoveMember(g, m.UserID)
}

func (s *Server) mustGuild(id string) *model.GuildState {
	g := s.discord.Guilds[id]
	if g == nil {
		panic(fmt.Sprintf("discordtest: no guild %q", id))
	}
	return g
}

func (s *Server) mustMember(guildID, userID string) (*model.GuildState, *model.Member) {
	g := s.mustGuild(guildID)
	m := g.Members[userID]
	if m == nil {
		panic(fmt.Sprintf("discordtest: no member %q in guild %q", userID, guildID))
	}
	return g, m
}
