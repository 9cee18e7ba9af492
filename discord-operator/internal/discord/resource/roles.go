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

// Roles implements Calls.
var Roles roles

type roles struct{}

var _ Calls = Roles

// Role returns a resource as a role; nil if it is not a role.
func Role(live Resource) *discordclient.Role {
	role, _ := live.(*discordclient.Role)
	return role
}

func (roles) Find(snap *guildcache.Snapshot, id string) Resource {
	if role, ok := snap.Role(id); ok {
		return &role
	}
	return nil
}

func (roles) Candidates(snap *guildcache.Snapshot, _ string) (all []Resource) {
	for _, role := range snap.Guild.Roles {
		all = append(all, &role)
	}
	return all
}

// Siblings omits @everyone, which is always the lowest role.
func (roles) Siblings(snap *guildcache.Snapshot, _ Resource) (all []order.Sibling) {
	for _, role := range snap.RankedRoles() {
		if role.ID != snap.Guild.ID {
			all = append(all, order.Sibling{ID: role.ID, Position: role.Position})
		}
	}
	return all
}

// Ranks omits roles that the bot may not move. It negates ranks, because Discord counts roles from
// the bottom.
func (roles) Ranks(snap *guildcache.Snapshot, ranks order.Ranks) order.Ranks {
	below := order.Ranks{}
	for id, rank := range ranks {
		if snap.BelowBot(id) {
			below[id] = -rank
		}
	}
	return below
}

func (roles) Mismatch(live Resource, guildID string, _ []discordgo.ChannelType) *conditions.Issue {
	role := Role(live)
	if role.ID != guildID && !role.Managed && !role.Tags.Booster {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonAdoptMismatch, "Discord assigns the role %q (%s) itself: to a bot, an "+
		"integration, all boosters of the server, or all members. Create a new object that adopts another role.",
		role.Name, role.ID)
}

func (roles) NotFound(id string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonAdoptNotFound,
		"The server has no role with the id %s of spec.adopt. Create a new object with the right id.", id)
}

func (roles) Get(ctx context.Context, api *guildcache.Client, guildID, id string) error {
	_, err := api.GetRole(ctx, guildID, id)
	return err
}

func (roles) Hidden(error) bool { return false }

func (roles) List(ctx context.Context, api *guildcache.Client, guildID string) error {
	_, err := api.ListRoles(ctx, guildID)
	return err
}

func (roles) ListedAt(snap *guildcache.Snapshot) time.Time { return snap.RolesAt }

func (roles) Recover(ctx context.Context, api *guildcache.Client, intent recovery.Intent) (recovery.Result, error) {
	return recovery.Role(ctx, api, intent)
}

func (roles) Move(
	ctx context.Context, api *guildcache.Client, guildID string, moves []discordclient.Move, reason string,
) error {
	return api.MoveRoles(ctx, guildID, moves, reason)
}

func (roles) Delete(ctx context.Context, api *guildcache.Client, guildID, id, reason string) error {
	return api.DeleteRole(ctx, guildID, id, reason)
}

// RoleEdit changes fields of a role.
type RoleEdit struct{ discordclient.RoleEdit }

// Send implements Edit.
func (e RoleEdit) Send(ctx context.Context, api *guildcache.Client, guildID, id, reason string) (Resource, error) {
	role, err := api.EditRole(ctx, guildID, id, e.RoleEdit, reason)
	return &role, err
}

// Without implements Edit. It omits nothing, because roles have no overwrites to protect.
func (e RoleEdit) Without(...string) Edit { return e }

// RoleCreate creates a role.
type RoleCreate struct{ discordclient.RoleCreate }

// CheckLimits implements Create.
func (*RoleCreate) CheckLimits(ctx context.Context, api *guildcache.Client, guildID string) error {
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

// Remaining implements Create.
func (*RoleCreate) Remaining(*guildcache.Snapshot, Resource, StoredForms, Inheritance) (Edit, []string) {
	return nil, nil
}
