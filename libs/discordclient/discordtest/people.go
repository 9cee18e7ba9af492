package discordtest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bot is an application with its bot user. AddBot fills what is left empty.
type Bot struct {
	// Name of the bot user; default "bot".
	Name string
	// Token is its secret; default: made up.
	Token string
	// UserID and ApplicationID are the same number, as for all applications of today.
	UserID, ApplicationID string
	// OwnerWithout2FA is whether the person who owns the bot has no two-factor authentication: guilds with
	// MFALevel 1 then refuse its administrative calls with 60003.
	OwnerWithout2FA bool
	// PrivilegedIntents are the privileged Gateway intents it may use (members, presences, message content); others
	// are closed with 4014.
	PrivilegedIntents int
}

// bot is what the simulator knows about one.
type bot struct {
	Bot
	user *User
}

// AddBot makes an application and its bot user, which is in no guild yet.
func (s *Server) AddBot(b Bot) Bot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Name == "" {
		b.Name = "bot"
	}
	if b.UserID == "" {
		b.UserID = s.newID()
	}
	b.ApplicationID = b.UserID
	if b.Token == "" {
		b.Token = base64.RawStdEncoding.EncodeToString([]byte(b.UserID)) + "." + s.secret(6) + "." + s.secret(38)
	}
	u := &User{ID: b.UserID, Name: b.Name, Bot: true}
	s.users[u.ID] = u
	s.bots[b.Token] = &bot{Bot: b, user: u}
	return b
}

// RotateToken gives a bot a new token; the old one is refused from now on, and its Gateway sessions are closed with 4004.
func (s *Server) RotateToken(old string) (token string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bots[old]
	if b == nil {
		return "", errors.New("rotate token: no bot has the old one")
	}
	return s.rotate(b), nil
}

// rotate replaces a bot's token; callers hold the lock.
func (s *Server) rotate(b *bot) string {
	delete(s.bots, b.Token)
	b.Token = base64.RawStdEncoding.EncodeToString([]byte(b.UserID)) + "." + s.secret(6) + "." + s.secret(38)
	s.bots[b.Token] = b
	s.gateway.closeBot(b.UserID, 4004, "Authentication failed.")
	return b.Token
}

// AddUser makes a person; returns the user id.
func (s *Server) AddUser(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &User{ID: s.newID(), Name: name}
	s.users[u.ID] = u
	return u.ID
}

// GuildSpec says what guild to make.
type GuildSpec struct {
	// ID is a snowflake; default: a new one.
	ID string
	// Name, 2 to 100 characters; default "Test server".
	Name string
	// Features, such as "COMMUNITY", which brings "NEWS" (announcement channels).
	Features []string
	// MFALevel 1 asks for two-factor authentication for administrative calls.
	MFALevel int
}

// AddGuild makes a guild that belongs to a person of its own, with the @everyone role and no channels.
func (s *Server) AddGuild(spec GuildSpec) Guild {
	owner := s.AddUser("owner")
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec.Name == "" {
		spec.Name = "Test server"
	}
	if spec.ID == "" {
		spec.ID = s.newID()
	}
	if !isSnowflake(spec.ID) {
		panic(fmt.Sprintf("discordtest: %q is no id: no route would find the guild", spec.ID))
	}
	g := newGuild(spec, owner)
	g.members[owner] = &Member{UserID: owner, JoinedAt: s.clock.now()}
	s.guilds[g.ID] = g
	s.changed()
	return g.snapshot()
}

// AddMember puts a bot or a person into a guild, with a role of its own that holds the permissions (0: none besides
// @everyone's), as Discord's invite link does. A connected bot is told by GUILD_CREATE. It panics when there is no such
// guild or user: a mistake in the test.
func (s *Server) AddMember(guildID, userID string, p Permissions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, u := s.mustGuild(guildID), s.users[userID]
	if u == nil {
		panic(fmt.Sprintf("discordtest: no user %s", userID))
	}
	m := &Member{UserID: userID, JoinedAt: s.clock.now()}
	g.members[userID] = m
	if p != 0 {
		r := Role{ID: s.newID(), Name: u.Name, Permissions: p, Position: len(g.Roles), Managed: u.Bot}
		g.Roles = append(g.Roles, r)
		m.Roles = []string{r.ID}
		s.emit(g, "GUILD_ROLE_CREATE", map[string]any{"guild_id": g.ID, "role": r.wire()})
	}
	s.gateway.joined(g, userID)
	s.changed()
}

// SetPermissions replaces the permissions of the role that AddMember gave, or of @everyone when userID is the guild's id.
func (s *Server) SetPermissions(guildID, userID string, p Permissions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(guildID)
	id := userID
	if m := g.members[userID]; m != nil && len(m.Roles) > 0 {
		id = m.Roles[0]
	}
	r := g.role(id)
	if r == nil {
		panic("discordtest: SetPermissions: member without a role; add it with permissions first")
	}
	r.Permissions = p
	s.emit(g, "GUILD_ROLE_UPDATE", map[string]any{"guild_id": g.ID, "role": r.wire()})
}

// AddRole makes a role in a guild; returns its id.
func (s *Server) AddRole(guildID, name string, p Permissions) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(guildID)
	r := Role{ID: s.newID(), Name: name, Permissions: p, Position: len(g.Roles)}
	g.Roles = append(g.Roles, r)
	s.emit(g, "GUILD_ROLE_CREATE", map[string]any{"guild_id": g.ID, "role": r.wire()})
	return r.ID
}

// GiveRole gives a member one more role.
func (s *Server) GiveRole(guildID, userID, roleID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, m := s.mustMember(guildID, userID)
	if !slices.Contains(m.Roles, roleID) {
		m.Roles = append(m.Roles, roleID)
		s.memberChanged(g, m)
	}
}

// TakeRole takes a role from a member.
func (s *Server) TakeRole(guildID, userID, roleID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, m := s.mustMember(guildID, userID)
	s.takeRole(g, m, roleID)
}

// takeRole is TakeRole for those who hold the lock.
func (s *Server) takeRole(g *guild, m *Member, roleID string) {
	if i := slices.Index(m.Roles, roleID); i >= 0 {
		m.Roles = slices.Delete(m.Roles, i, i+1)
		s.memberChanged(g, m)
	}
}

// memberChanged tells of a member's new roles: the bot itself, and those who have the intent.
func (s *Server) memberChanged(g *guild, m *Member) {
	w := m.wire(s.users[m.UserID])
	w["guild_id"] = g.ID
	s.emit(g, "GUILD_MEMBER_UPDATE", w)
}

// mustMember finds a member or panics: a mistake in the test.
func (s *Server) mustMember(guildID, userID string) (*guild, *Member) {
	g := s.mustGuild(guildID)
	m := g.members[userID]
	if m == nil {
		panic(fmt.Sprintf("discordtest: no member %q in guild %q", userID, guildID))
	}
	return g, m
}

// DeleteRole removes a role, its overwrites and its memberships, as the app does. The order of the events is a guess.
func (s *Server) DeleteRole(guildID, roleID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(guildID)
	g.Roles = slices.DeleteFunc(g.Roles, func(r Role) bool { return r.ID == roleID })
	s.emit(g, "GUILD_ROLE_DELETE", map[string]any{"guild_id": g.ID, "role_id": roleID})
	for _, id := range slices.Sorted(maps.Keys(g.members)) {
		s.takeRole(g, g.members[id], roleID)
	}
	for _, c := range g.sorted() {
		before := len(c.Overwrites)
		c.Overwrites = slices.DeleteFunc(c.Overwrites, func(o Overwrite) bool { return o.ID == roleID })
		if len(c.Overwrites) != before {
			s.emit(g, "CHANNEL_UPDATE", c.wire())
		}
	}
}

// RemoveMember takes a member out of a guild. A connected bot is told by GUILD_DELETE without `unavailable`.
func (s *Server) RemoveMember(guildID, userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeMember(s.mustGuild(guildID), userID)
}

// removeMember is RemoveMember for those who hold the lock.
func (s *Server) removeMember(g *guild, userID string) {
	delete(g.members, userID)
	s.gateway.left(g, userID)
	s.changed()
}

// mustGuild finds a guild or panics: a mistake in the test.
func (s *Server) mustGuild(id string) *guild {
	g := s.guilds[id]
	if g == nil {
		panic(fmt.Sprintf("discordtest: no guild %q", id))
	}
	return g
}

// botOf is the bot of an Authorization header, or nil.
func (s *Server) botOf(authorization string) *bot {
	token, ok := strings.CutPrefix(authorization, "Bot ")
	if !ok {
		return nil
	}
	return s.bots[token]
}
