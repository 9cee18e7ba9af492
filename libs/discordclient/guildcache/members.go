package guildcache

import (
	"encoding/json"
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// The Gateway's events about roles, the bot's own membership and webhooks.

// changeRoles replaces the roles of a guild.
func (c *cache) changeRoles(guildID string, f func([]discordclient.Role) []discordclient.Role) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guild(guildID)
	guild := g.snap().Guild
	guild.Roles = f(slices.Clone(guild.Roles))
	if g.setGuild(guild, time.Now()) {
		c.emit(EventGuild, g.id, "")
	}
}

func (c *cache) onRole(data []byte) error {
	var d struct {
		GuildID string             `json:"guild_id"`
		Role    discordclient.Role `json:"role"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	if d.GuildID == "" || d.Role.ID == "" {
		return errNoObject
	}
	c.changeRoles(d.GuildID, func(roles []discordclient.Role) []discordclient.Role {
		roles = slices.DeleteFunc(roles, func(r discordclient.Role) bool { return r.ID == d.Role.ID })
		roles = append(roles, d.Role)
		slices.SortFunc(roles, func(a, b discordclient.Role) int { return discordclient.CompareIDs(a.ID, b.ID) })
		return roles
	})
	return nil
}

func (c *cache) onRoleDelete(data []byte) error {
	var d struct {
		GuildID string `json:"guild_id"`
		RoleID  string `json:"role_id"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	if d.GuildID == "" {
		return errNoObject
	}
	c.changeRoles(d.GuildID, func(roles []discordclient.Role) []discordclient.Role {
		return slices.DeleteFunc(roles, func(r discordclient.Role) bool { return r.ID == d.RoleID })
	})
	return nil
}

// memberEvent is what is used of a member.
type memberEvent struct {
	GuildID string     `json:"guild_id"`
	Roles   []string   `json:"roles"`
	User    identified `json:"user"`
}

// onMember follows the bot's own roles; of other members nothing is asked for.
func (c *cache) onMember(data []byte) error {
	var d memberEvent
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guilds[d.GuildID]; g != nil && d.User.ID == c.selfID {
		g.update(func(s *Snapshot) { s.selfRoles, s.selfKnown = d.Roles, true })
		c.emit(EventGuild, g.id, "")
	}
	return nil
}

// onWebhooks makes the webhooks of a channel unknown, unless an own write explains the event: it says no more than
// that something changed.
func (c *cache) onWebhooks(data []byte) error {
	var d struct {
		GuildID   string `json:"guild_id"`
		ChannelID string `json:"channel_id"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guilds[d.GuildID]
	if g == nil {
		return nil
	}
	g.hooksChanged[d.ChannelID] = time.Now()
	own := g.pendingHooks[d.ChannelID]
	for len(own) > 0 && time.Since(own[0]) > pendingLife {
		own = own[1:]
	}
	if len(own) > 0 {
		g.expectHooks(d.ChannelID, own[1:])
		return nil
	}
	delete(g.pendingHooks, d.ChannelID)
	g.forgetHooks(d.ChannelID)
	c.emit(EventWebhooks, g.id, d.ChannelID)
	return nil
}
