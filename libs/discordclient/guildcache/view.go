// SPDX-License-Identifier: Apache-2.0

package guildcache

import "jutsu.com/operators/libs/discordclient/guildcache/internal/store"

type (
	// View is the live view of one guild, safe for concurrent use. It never waits for Discord.
	View = store.View
	// Snapshot is an immutable state of a guild. Do not change the values that its methods return.
	Snapshot = store.Snapshot
	// Presence describes the bot's membership of a guild.
	Presence = store.Presence
	// Mode describes how a view gets its state.
	Mode = store.Mode
	// Event reports a change of a guild by another client. Some own calls cause events too.
	Event = store.Event
	// EventKind is the subject of an event.
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
