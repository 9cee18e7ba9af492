// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/permissions"
)

// RoleCreate describes a new role. Discord puts it just above @everyone, below all other roles.
type RoleCreate struct {
	Name        string            `json:"name"`                  // 1 to 100 characters
	Permissions *permissions.Bits `json:"permissions,omitempty"` // if nil, the role gets the permissions of @everyone
	Colors      *RoleColors       `json:"colors,omitempty"`
	Hoist       bool              `json:"hoist,omitempty"`
	Mentionable bool              `json:"mentionable,omitempty"`
}

// RoleEdit changes fields of a role.
type RoleEdit struct {
	Name        Change[string]           `json:"name,omitzero"`
	Permissions Change[permissions.Bits] `json:"permissions,omitzero"`
	Colors      Change[RoleColors]       `json:"colors,omitzero"`
	Hoist       Change[bool]             `json:"hoist,omitzero"`
	Mentionable Change[bool]             `json:"mentionable,omitzero"`
}

// Routes of calls for roles. The bot can change, give and take only roles below its own highest
// role.
const (
	routeRoles      = "/guilds/{guild_id}/roles"
	routeRole       = "/guilds/{guild_id}/roles/{role_id}"
	routeMemberRole = "/guilds/{guild_id}/members/{user_id}/roles/{role_id}"
)

// ListRoles returns the roles of a guild, ordered by id.
func (c *Client) ListRoles(ctx context.Context, guildID string) ([]Role, error) {
	cl := get("list roles", routeRoles, discordgo.EndpointGuildRoles(guildID))
	roles, err := result[[]Role](ctx, c, cl, nil, guildID)
	sortRoles(roles)
	return roles, err
}

// GetRole returns a role.
func (c *Client) GetRole(ctx context.Context, guildID, id string) (Role, error) {
	cl := get("get role", routeRole, discordgo.EndpointGuildRole(guildID, id))
	return result[Role](ctx, c, cl, nil, guildID, id)
}

// CreateRole creates a role. After ClassUnknown, look for the role with package recovery.
func (c *Client) CreateRole(ctx context.Context, guildID string, in RoleCreate, reason string) (Role, error) {
	return result[Role](ctx, c, createRole(guildID, reason), in, guildID)
}

func createRole(guildID, reason string) call {
	return write(http.MethodPost, "create role", routeRoles, discordgo.EndpointGuildRoles(guildID), reason)
}

// EditRole changes fields of a role.
func (c *Client) EditRole(ctx context.Context, guildID, id string, edit RoleEdit, reason string) (Role, error) {
	cl := write(http.MethodPatch, "edit role", routeRole, discordgo.EndpointGuildRole(guildID, id), reason)
	return result[Role](ctx, c, cl, edit, guildID, id)
}

// DeleteRole deletes a role. Discord also removes the role from members and overwrites.
func (c *Client) DeleteRole(ctx context.Context, guildID, id, reason string) error {
	cl := write(http.MethodDelete, "delete role", routeRole, discordgo.EndpointGuildRole(guildID, id), reason)
	return c.do(ctx, cl, nil, nil, guildID, id)
}

// MoveRoles changes the positions of roles and returns all roles of the guild, ordered by id.
func (c *Client) MoveRoles(ctx context.Context, guildID string, moves []Move, reason string) ([]Role, error) {
	cl := write(http.MethodPatch, "move roles", routeRoles, discordgo.EndpointGuildRoles(guildID), reason)
	roles, err := result[[]Role](ctx, c, cl, moves, guildID)
	sortRoles(roles)
	return roles, err
}

// GetMember returns a member of a guild, such as the bot itself.
func (c *Client) GetMember(ctx context.Context, guildID, userID string) (Member, error) {
	cl := get("get member", "/guilds/{guild_id}/members/{user_id}", discordgo.EndpointGuildMember(guildID, userID))
	return result[Member](ctx, c, cl, nil, guildID, userID)
}

// AddMemberRole gives a member a role. It also succeeds if the member already has the role.
func (c *Client) AddMemberRole(ctx context.Context, guildID, userID, roleID, reason string) error {
	endpoint := discordgo.EndpointGuildMemberRole(guildID, userID, roleID)
	cl := write(http.MethodPut, "add role to member", routeMemberRole, endpoint, reason)
	return c.do(ctx, cl, nil, nil, guildID, userID, roleID)
}

// RemoveMemberRole takes a role from a member. It also succeeds if the member lacks the role.
func (c *Client) RemoveMemberRole(ctx context.Context, guildID, userID, roleID, reason string) error {
	endpoint := discordgo.EndpointGuildMemberRole(guildID, userID, roleID)
	cl := write(http.MethodDelete, "remove role from member", routeMemberRole, endpoint, reason)
	return c.do(ctx, cl, nil, nil, guildID, userID, roleID)
}
