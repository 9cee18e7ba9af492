package discordclient

import (
	"encoding/json"
	"slices"
	"time"
)

// The Gateway's events about roles, the bot's own membership and webhooks.

// changeRoles replaces the roles of a guild.
func (h *hub) changeRoles(guildID string, f func([]Role) []Role) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guild(guildID)
	guild := g.snap().Guild
	guild.Roles = f(slices.Clone(guild.Roles))
	if g.setGuild(guild, time.Now()) {
		h.emit(EventGuild, g.id, "")
	}
}

func (h *hub) onRole(data []byte) error {
	var d struct {
		GuildID string   `json:"guild_id"`
		Role    wireRole `json:"role"`
	}
	if err := json.Unmarshal(data, &d); err != nil || d.GuildID == "" || d.Role.ID == "" {
		return errOr(err)
	}
	role := roleOf(&d.Role)
	h.changeRoles(d.GuildID, func(roles []Role) []Role {
		roles = slices.DeleteFunc(roles, func(r Role) bool { return r.ID == role.ID })
		roles = append(roles, role)
		slices.SortFunc(roles, func(a, b Role) int { return CompareIDs(a.ID, b.ID) })
		return roles
	})
	return nil
}

func (h *hub) onRoleDelete(data []byte) error {
	var d struct {
		GuildID string `json:"guild_id"`
		RoleID  string `json:"role_id"`
	}
	if err := json.Unmarshal(data, &d); err != nil || d.GuildID == "" {
		return errOr(err)
	}
	h.changeRoles(d.GuildID, func(roles []Role) []Role {
		return slices.DeleteFunc(roles, func(r Role) bool { return r.ID == d.RoleID })
	})
	return nil
}

// onMember follows the bot's own roles; of other members nothing is asked for.
func (h *hub) onMember(data []byte) error {
	var d wireMember
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.guilds[d.GuildID]; g != nil && d.User.ID == h.selfID {
		g.update(func(s *Snapshot) { s.selfRoles, s.selfKnown = d.Roles, true })
		h.emit(EventGuild, g.id, "")
	}
	return nil
}

// onWebhooks makes the webhooks of a channel unknown, unless an own write explains the event: it says no more than
// that something changed.
func (h *hub) onWebhooks(data []byte) error {
	var d struct {
		GuildID   string `json:"guild_id"`
		ChannelID string `json:"channel_id"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.guilds[d.GuildID]
	if g == nil {
		return nil
	}
	g.hookAt[d.ChannelID] = time.Now()
	own := g.hookAct[d.ChannelID]
	for len(own) > 0 && time.Since(own[0]) > echoLife {
		own = own[1:]
	}
	if len(own) > 0 {
		g.expectHooks(d.ChannelID, own[1:])
		return nil
	}
	delete(g.hookAct, d.ChannelID)
	g.update(func(s *Snapshot) { s.hooks = withoutKey(s.hooks, d.ChannelID) })
	h.emit(EventWebhooks, g.id, d.ChannelID)
	return nil
}
