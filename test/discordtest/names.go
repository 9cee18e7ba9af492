// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"time"

	"jutsu.com/operators/test/discordtest/gateway"
	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest"
	"jutsu.com/operators/test/discordtest/rest/call"
	"jutsu.com/operators/test/discordtest/rest/channels"
	"jutsu.com/operators/test/discordtest/rest/faults"
)

type (
	// Bot is an application with its bot user.
	Bot = model.Bot
	// GuildSpec describes a new guild.
	GuildSpec = model.GuildSpec
	// Guild is a copy of a guild with its channels, roles, members, messages and audit log.
	Guild = model.Guild
	// Channel is a channel or a category (TypeCategory).
	Channel = model.Channel
	// Overwrite is a permission overwrite of a channel.
	Overwrite = model.Overwrite
	// Tag is a tag that posts in a forum or media channel can have.
	Tag = model.Tag
	// Emoji is a guild's own emoji or a Unicode one.
	Emoji = model.Emoji
	// Permissions is a set of permission bits.
	Permissions = model.Permissions
	// Role is a role of a guild.
	Role = model.Role
	// Webhook is an incoming webhook.
	Webhook = model.Webhook
	// AuditEntry is an entry of the audit log.
	AuditEntry = model.AuditEntry
	// AuditChange is one changed field in an audit log entry.
	AuditChange = model.Change
)

type (
	// Fault selects REST calls for an Action.
	Fault = faults.Fault
	// Action is the effect of a fault on a call. [FailBefore] and other functions return actions.
	Action = faults.Action
	// Gateway simulates Discord's Gateway (websocket).
	Gateway = gateway.Gateway
	// GatewayFaults are the faults of the Gateway.
	GatewayFaults = gateway.Faults
	// Limits are Discord's rate and quantity limits.
	Limits = limits.Limits
	// Weakness makes random REST responses wrong, for example stale after a write.
	Weakness = model.Weakness
	// Altered makes the simulator change or ignore sent values.
	Altered = call.Altered
	// Rate is the largest number of calls, or of other events, per time window.
	Rate = limits.Rate
	// Request is a received REST call.
	Request = call.Request
)

// The simulated channel types.
const (
	TypeText         = model.TypeText
	TypeVoice        = model.TypeVoice
	TypeCategory     = model.TypeCategory
	TypeAnnouncement = model.TypeAnnouncement
	TypeStage        = model.TypeStage
	TypeForum        = model.TypeForum
	TypeMedia        = model.TypeMedia
)

// Flags of forum and media channels.
const (
	FlagRequireTag        = model.FlagRequireTag
	FlagHideMediaDownload = model.FlagHideMediaDownload
)

// Permission bits that the simulator checks or stores.
const (
	PermAdministrator      = model.PermAdministrator
	PermManageChannels     = model.PermManageChannels
	PermManageGuild        = model.PermManageGuild
	PermViewAuditLog       = model.PermViewAuditLog
	PermViewChannel        = model.PermViewChannel
	PermSendMessages       = model.PermSendMessages
	PermManageMessages     = model.PermManageMessages
	PermReadMessageHistory = model.PermReadMessageHistory
	PermConnect            = model.PermConnect
	PermManageRoles        = model.PermManageRoles
	PermManageWebhooks     = model.PermManageWebhooks
)

// DefaultLimits returns Discord's known limits.
func DefaultLimits() *Limits { return limits.Default() }

// StrictLimits returns DefaultLimits with guesses for limits that Discord does not publish: sliding
// windows, shared buckets, and limits of creates.
func StrictLimits() *Limits { return limits.Strict() }

// NoRateLimits returns only the quantity limits, for tests that must not wait.
func NoRateLimits() *Limits { return limits.None() }

// Routes returns all simulated REST routes in the form "METHOD /template", sorted.
func Routes() []string { return rest.Routes() }

// NormaliseName returns the name that Discord stores if a client sends this name for a text,
// announcement, forum or media channel.
func NormaliseName(name string) string { return channels.NormaliseName(name) }

// SnowflakeAt returns the smallest id that an object created at t can have, for `after=` in audit
// log queries.
func SnowflakeAt(t time.Time) uint64 { return model.SnowflakeAt(t) }
