// SPDX-License-Identifier: Apache-2.0

// Package resource describes channels, categories, roles and servers on Discord: the calls that create, edit, move
// and delete them, and the tables of their fields. A row of a table drives creates, differences, the check of
// answers and the words for users.
package resource

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/recovery"
)

// Resource is a channel, a category or a role on Discord.
type Resource interface {
	GetID() string
	GetName() string
	// GetParentID returns the id of the category; empty for none.
	GetParentID() string
}

// Calls find, read, move and delete the resources of one type.
type Calls interface {
	Deleter
	// Find returns a resource by its id; nil where the state of the guild lacks it.
	Find(snap *guildcache.Snapshot, id string) Resource
	// Candidates returns the resources in the place where one would be.
	Candidates(snap *guildcache.Snapshot, parentID string) []Resource
	// Siblings returns the resources among which one is ordered, by rising positions.
	Siblings(snap *guildcache.Snapshot, of Resource) []order.Sibling
	// Ranks returns the ranks by which Discord orders the siblings that the bot may move.
	Ranks(snap *guildcache.Snapshot, ranks order.Ranks) order.Ranks
	// Mismatch returns why an object cannot manage a resource; nil where it can.
	Mismatch(live Resource, guildID string, types []discordgo.ChannelType) *conditions.Issue
	// NotFound returns the issue that the guild has no resource with an id.
	NotFound(id string) *conditions.Issue
	// Get asks Discord for a resource. Hidden reports whether its error says that the bot may not view the resource.
	Get(ctx context.Context, api *guildcache.Client, guildID, id string) error
	Hidden(err error) bool
	// List reads all resources of a guild into the view. ListedAt returns a time before the last list was read.
	List(ctx context.Context, api *guildcache.Client, guildID string) error
	ListedAt(snap *guildcache.Snapshot) time.Time
	// Recover looks for the result of a create.
	Recover(ctx context.Context, api *guildcache.Client, intent recovery.Intent) (recovery.Result, error)
	// Move changes positions.
	Move(ctx context.Context, api *guildcache.Client, guildID string, moves []discordclient.Move, reason string) error
}

// Deleter deletes resources of one type.
type Deleter interface {
	Delete(ctx context.Context, api *guildcache.Client, guildID, id, reason string) error
}

// Create is a resource to create.
type Create interface {
	// May returns the error of a limit that would refuse the create now.
	May(ctx context.Context, api *guildcache.Client, guildID string) error
	// Send creates the resource. It must not be repeated where the error says that the result is unknown.
	Send(ctx context.Context, api *guildcache.Client, guildID, reason string, inherits Inheritance) (Resource, error)
	// Answered returns the fields to compare with the response, and the state before the create.
	Answered(made Resource, planned []string) (fields []string, before any)
	// Remaining returns the edit of what the create has not done, and its fields.
	Remaining(snap *guildcache.Snapshot, made Resource, stored StoredForms, inherits Inheritance) (Edit, []string)
}

// Edit is a change of fields of a resource.
type Edit interface {
	Send(ctx context.Context, api *guildcache.Client, guildID, id, reason string) (Resource, error)
	// Without returns the edit without some fields, by Discord's names.
	Without(wires ...string) Edit
}

// Inheritance records whether a new channel has the overwrites of its category.
type Inheritance interface {
	// Refused reports whether Discord has refused a create with the overwrites of the category.
	Refused() bool
	Refuse()
	// Inherit records that the channel lacks overwrites of its category.
	Inherit()
}
