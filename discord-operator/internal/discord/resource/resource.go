// SPDX-License-Identifier: Apache-2.0

// Package resource sends the Discord calls for channels, categories, roles and servers. Its tables
// relate the fields of a spec to the fields of Discord's API.
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
	GetParentID() string // the id of the category; empty for none
}

// Calls find, read, move and delete the resources of one type.
type Calls interface {
	Deleter
	Find(snap *guildcache.Snapshot, id string) Resource               // nil if the snapshot lacks it
	Candidates(snap *guildcache.Snapshot, parentID string) []Resource // resources with the same parent
	Siblings(snap *guildcache.Snapshot, of Resource) []order.Sibling  // including the resource itself
	Ranks(snap *guildcache.Snapshot, ranks order.Ranks) order.Ranks   // the ranks of siblings that the bot may move
	// Mismatch says why an object cannot manage a resource; nil if it can.
	Mismatch(live Resource, guildID string, types []discordgo.ChannelType) *conditions.Issue
	NotFound(id string) *conditions.Issue // the issue that no resource has the id of spec.adopt
	// Get reads a resource into the cache. Hidden reports whether Get's error means missing access.
	Get(ctx context.Context, api *guildcache.Client, guildID, id string) error
	Hidden(err error) bool
	// List reads all resources into the cache. ListedAt returns the time of the last list request.
	List(ctx context.Context, api *guildcache.Client, guildID string) error
	ListedAt(snap *guildcache.Snapshot) time.Time
	Recover(ctx context.Context, api *guildcache.Client, intent recovery.Intent) (recovery.Result, error)
	Move(ctx context.Context, api *guildcache.Client, guildID string, moves []discordclient.Move, reason string) error
}

// Deleter deletes resources of one type.
type Deleter interface {
	Delete(ctx context.Context, api *guildcache.Client, guildID, id, reason string) error
}

// Create creates a resource.
type Create interface {
	// CheckLimits returns an error if a limit of Discord would refuse the create now.
	CheckLimits(ctx context.Context, api *guildcache.Client, guildID string) error
	// If Send's error leaves open whether Discord has created the resource, do not call Send again.
	Send(ctx context.Context, api *guildcache.Client, guildID, reason string, inherits Inheritance) (Resource, error)
	// Answered returns the fields to compare with Discord's response, and an empty resource.
	Answered(made Resource, planned []string) (fields []string, before any)
	// Remaining returns the edit of the fields that the create has not set, and their names.
	Remaining(snap *guildcache.Snapshot, made Resource, stored StoredForms, inherits Inheritance) (Edit, []string)
}

// Edit changes fields of a resource.
type Edit interface {
	Send(ctx context.Context, api *guildcache.Client, guildID, id, reason string) (Resource, error)
	Without(wires ...string) Edit
}

// Inheritance records that a new channel lacks overwrites of its category (Inherit), and that
// Discord has refused to create the channel with them (Refuse).
type Inheritance interface {
	Refused() bool // whether Discord has refused a create with the category's overwrites
	Refuse()
	Inherit()
}
