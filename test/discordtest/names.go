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

// What tests set up and what they find: the state (package model).
type (
	// Bot is an application with its bot user.
	Bot = model.Bot
	// GuildSpec says what guild to make.
	GuildSpec = model.GuildSpec
	// Guild is a copy of a guild with everything in it.
	Guild = model.Guild
	// Channel is a channel or, with TypeCategory, a group of channels.
	Channel = model.Channel
	// Overwrite is a permission overwrite of a channel.
	Overwrite = model.Overwrite
	// Tag is a tag of a forum-like channel.
	Tag = model.Tag
	// Emoji is one of the guild or a Unicode one.
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

// What goes wrong, how often calls are allowed, and which calls there were.
type (
	// Fault is something that goes wrong with REST calls; Action is what.
	Fault = faults.Fault
	// Action is what a fault does to a call; the functions of this package name the usual ones.
	Action = faults.Action
	// Gateway is the websocket side: its faults, and what clients did.
	Gateway = gateway.Gateway
	// GatewayFaults is what goes wrong with the Gateway.
	GatewayFaults = gateway.Faults
	// Limits are what Discord allows.
	Limits = limits.Limits
	// Weakness is how answers may be wrong for a moment.
	Weakness = model.Weakness
	// Altered is what is stored otherwise than it was sent.
	Altered = call.Altered
	// Rate is a number per window of time.
	Rate = limits.Rate
	// Request is a REST call that arrived.
	Request = call.Request
)

// Channel types that the simulator knows.
const (
	TypeText         = model.TypeText
	TypeVoice        = model.TypeVoice
	TypeCategory     = model.TypeCategory
	TypeAnnouncement = model.TypeAnnouncement
	TypeStage        = model.TypeStage
	TypeForum        = model.TypeForum
	TypeMedia        = model.TypeMedia
)

// Flags of forum-like channels.
const (
	FlagRequireTag        = model.FlagRequireTag
	FlagHideMediaDownload = model.FlagHideMediaDownload
)

// Permission bits that the simulator's rules ask for.
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

// DefaultLimits are Discord's, as far as they are known.
func DefaultLimits() *Limits { return limits.Default() }

// StrictLimits are DefaultLimits with all that Discord may do and does not publish: sliding windows,
// buckets that routes share, hidden limits of creates. The figures are guesses.
func StrictLimits() *Limits { return limits.Strict() }

// NoRateLimits keeps the limits of quantity (500 channels ...) and drops every limit of rate: for
// tests about something else that must not wait.
func NoRateLimits() *Limits { return limits.None() }

// Routes are the names of all REST routes that the simulator answers, "METHOD /template", sorted.
func Routes() []string { return rest.Routes() }

// NormaliseName is how the name of a text-like channel is stored.
func NormaliseName(name string) string { return channels.NormaliseName(name) }

// SnowflakeAt is the smallest id of a moment: what `after=` in audit log queries wants.
func SnowflakeAt(t time.Time) uint64 { return model.SnowflakeAt(t) }
