// SPDX-License-Identifier: Apache-2.0

// Package roles has the routes of roles. To change, delete or give a role, a bot needs MANAGE_ROLES
// and a higher role. It can grant only permissions that it has. Source:
// https://docs.discord.com/developers/topics/permissions#permission-hierarchy. It is a guess that
// roles of bots, integrations and boosts can be neither deleted nor given (50028).
package roles

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// List is GET /guilds/{guild_id}/roles.
func List(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, g.Wire()["roles"], nil
}

// Get is GET /guilds/{guild_id}/roles/{role_id}.
func Get(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	r := g.Role(c.Path("role_id"))
	if r == nil {
		return 0, nil, call.ErrUnknownRole
	}
	return http.StatusOK, r.Wire(), nil
}

// Create is POST /guilds/{guild_id}/roles. It is a guess that other roles keep their positions.
func Create(c *call.Call) (int, any, error) {
	g, err := c.GuildWith(model.PermManageRoles)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	r := model.Role{Name: "new role", Permissions: g.Role(g.ID).Permissions, Position: 1}
	if err := readFields(c, f, g, &r); err != nil {
		return 0, nil, err
	}
	if most := c.Options.Limits.Roles; len(g.Roles) >= most {
		return 0, nil, call.LimitReached(30005, "server roles", most)
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	r.ID = c.Discord.InsertRole(g, r)
	c.Discord.Log(g, model.AuditEntry{
		Action: model.AuditRoleCreate, UserID: c.Bot.UserID, TargetID: r.ID, Reason: reason,
		Changes: []model.Change{{Key: "name", New: r.Name}, {Key: "permissions", New: r.Permissions}},
	})
	return http.StatusOK, r.Wire(), nil
}

// Edit is PATCH /guilds/{guild_id}/roles/{role_id}.
func Edit(c *call.Call) (int, any, error) {
	g, r, err := writable(c)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	after := *r
	if err := readFields(c, f, g, &after); err != nil {
		return 0, nil, err
	}
	if r.ID == g.ID && after.Name != r.Name {
		return 0, nil, call.ErrInvalidRole
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	c.Discord.ReplaceRole(g, after, c.Bot.UserID, reason)
	return http.StatusOK, g.Role(r.ID).Wire(), nil
}

// Delete is DELETE /guilds/{guild_id}/roles/{role_id}.
func Delete(c *call.Call) (int, any, error) {
	g, r, err := ordinary(c)
	if err != nil {
		return 0, nil, err
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	c.Discord.Log(g, model.AuditEntry{
		Action: model.AuditRoleDelete, UserID: c.Bot.UserID, TargetID: r.ID, Reason: reason,
		Changes: []model.Change{{Key: "name", Old: r.Name}},
	})
	c.Discord.RemoveRole(g, r.ID)
	return http.StatusNoContent, nil, nil
}

func writable(c *call.Call) (*model.GuildState, *model.Role, error) {
	g, err := c.GuildWith(model.PermManageRoles)
	if err != nil {
		return nil, nil, err
	}
	r := g.Role(c.Path("role_id"))
	switch {
	case r == nil:
		return nil, nil, call.ErrUnknownRole
	case !g.OutranksRole(c.Bot.UserID, r.ID):
		return nil, nil, call.ErrPermissions
	}
	return g, r, nil
}

func ordinary(c *call.Call) (*model.GuildState, *model.Role, error) {
	g, r, err := writable(c)
	if err == nil && (r.Managed || r.Booster || r.ID == g.ID) {
		err = call.ErrInvalidRole
	}
	return g, r, err
}
