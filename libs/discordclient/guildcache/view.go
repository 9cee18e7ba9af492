// SPDX-License-Identifier: Apache-2.0

package guildcache

import "jutsu.com/operators/libs/discordclient/guildcache/internal/store"

// What readers get; package store has the documentation.
type (
	// View is the live view of one guild. It is safe for concurrent use and never blocks.
	View = store.View
	// Snapshot is an immutable state of a guild. Do not change what its methods return.
	Snapshot = store.Snapshot
	// Presence is what is known about the bot's place in a guild.
	Presence = store.Presence
	// Mode is where a view comes from.
	Mode = store.Mode
	// Event says that something of a guild has changed on Discord, by a user or another program.
	Event = store.Event
	// EventKind is what an event is about.
	EventKind = store.EventKind
)

// See [Presence], [Mode] and [EventKind].
const (
	PresenceUnknown     = store.PresenceUnknown
	PresencePresent     = store.PresencePresent
	PresenceAbsent      = store.PresenceAbsent
	PresenceUnavailable = store.PresenceUnavailable

	ModeNone   = store.ModeNone
	ModeLive   = store.ModeLive
	ModePolled = store.ModePolled

	EventGuild    = store.EventGuild
	EventRole     = store.EventRole
	EventChannel  = store.EventChannel
	EventWebhooks = store.EventWebhooks
)
