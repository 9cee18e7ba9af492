// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/recovery"
)

// Roles are the calls for roles.
type Roles struct{}

var _ Calls = Roles{}

// Role returns the role of a resource; nil for none.
func Role(live Resource) *discordclient.Role {
	role, _ := live.(*discordclient.Role)
	return role
}

// Find implements Calls.
func (Roles) Find(snap *guildcache.Snapshot, id string) Resource {
	if role, ok := snap.Role(id); ok {
		return &role
	}
	return nil
}

// Candidates implements Calls.
func (Roles) Candidates(snap *guildcache.Snapshot, _ string) (all []Resource) {
	for _, role := range snap.Guild.Roles {
		all = append(all, &role)
	}
	return all
}

// Siblings implements Calls: all roles but @everyone, the lowest first.
func (Roles) Siblings(snap *guildcache.Snapshot, _ Resource) (all []order.Sibling) {
	for _, role := range snap.RankedRoles() {
		if role.ID != snap.Guild.ID {
			all = append(all, order.Sibling{ID: role.ID, Position: role.Position})
		}
	}
	return all
}

// Ranks implements Calls. They are negative, since Discord counts from the bottom.
func (Roles) Ranks(snap *guildcache.Snapshot, ranks order.Ranks) order.Ranks {
	below := order.Ranks{}
	for id, rank := range ranks {
		if snap.BelowBot(id) {
			below[id] = -rank
		}
	}
	return below
}

// Mismatch implements Calls.
func (Roles) Mismatch(live Resource, guildID string, _ []discordgo.ChannelType) *conditions.Issue {
	role := Role(live)
	if role.ID != guildID && !role.Managed && !role.Tags.Booster {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonAdoptMismatch, "The role %q (%s) belongs to a bot, to an integration or to "+
		"all who boost the server, or is that of every member: Discord assigns it. Adopt another one.", role.Name, role.ID)
}

// NotFound implements Calls.
func (Roles) NotFound(id string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonAdoptNotFound,
		"The server has no role with the id %s of spec.adopt. Check the id.", id)
}

// Get implements Calls.
func (Roles) Get(ctx context.Context, api *guildcache.Client, guildID, id string) error {
	_, err := api.GetRole(ctx, guildID, id)
	return err
}

// Hidden implements Calls: no role is.
func (Roles) Hidden(error) bool { return false }

// List implements Calls.
func (Roles) List(ctx context.Context, api *guildcache.Client, guildID string) error {
	_, err := api.ListRoles(ctx, guildID)
	return err
}

// ListedAt implements Calls.
func (Roles) ListedAt(snap *guildcache.Snapshot) time.Time { return snap.RolesAt }

// Recover implements Calls.
func (Roles) Recover(ctx context.Context, api *guildcache.Client, intent recovery.Intent) (recovery.Result, error) {
	return recovery.Role(ctx, api, intent)
}

// Move implements Calls.
func (Roles) Move(
	ctx context.Context, api *guildcache.Client, guildID string, moves []discordclient.Move, reason string,
) error {
	return api.MoveRoles(ctx, guildID, moves, reason)
}

// Delete implements Calls.
func (Roles) Delete(ctx context.Context, api *guildcache.Client, guildID, id, reason string) error {
	return api.DeleteRole(ctx, guildID, id, reason)
}

// RoleEdit changes fields of a role.
type RoleEdit struct{ discordclient.RoleEdit }

// Send implements Edit.
func (e RoleEdit) Send(ctx context.Context, api *guildcache.Client, guildID, id, reason string) (Resource, error) {
	role, err := api.EditRole(ctx, guildID, id, e.RoleEdit, reason)
	return &role, err
}

// Without implements Edit. Discord refuses or takes an edit of a role as a whole.
func (e RoleEdit) Without(...string) Edit { return e }

// RoleCreate creates a role.
type RoleCreate struct{ discordclient.RoleCreate }

// May implements Create.
func (*RoleCreate) May(ctx context.Context, api *guildcache.Client, guildID string) error {
	return api.MayCreateRole(ctx, guildID)
}

// Send implements Create.
func (c *RoleCreate) Send(
	ctx context.Context, api *guildcache.Client, guildID, reason string, _ Inheritance,
) (Resource, error) {
	role, err := api.CreateRole(ctx, guildID, c.RoleCreate, reason)
	return &role, err
}

// Answered implements Create.
func (*RoleCreate) Answered(_ Resource, planned []string) (fields []string, before any) {
	return planned, discordclient.Role{}
}

// Remaining implements Create: nothing remains.
func (*RoleCreate) Remaining(*guildcache.Snapshot, Resource, StoredForms, Inheritance) (Edit, []string) {
	return nil, nil
}
