// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"log/slog"
	"time"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/rest/channels"
)

// Options configure a simulated Discord. The zero value is as close to Discord as possible.
type Options struct {
	// Listen is the TCP address for Start; default "127.0.0.1:0" (a free port on loopback).
	Listen string
	// PublicURL is the base URL for clients, without a trailing slash; default: http:// and the
	// address that Start listens on.
	PublicURL string
	// Clock is the initial time; zero means now.
	Clock time.Time
	// Frozen stops the clock, so that only Server.Advance moves it; default: it follows real time.
	Frozen bool
	// Seed is the seed of all random values (faults, tokens); default 1.
	Seed uint64
	// Limits are the rate and quantity limits; nil means DefaultLimits.
	Limits *Limits

	Weakness Weakness

	Altered Altered
	// AuditDelay is the delay of audit log entries (undocumented); default 500 ms; negative: none.
	AuditDelay time.Duration
	// AuditJitter is the maximum of a further random delay, which may reorder entries; default 0.
	AuditJitter time.Duration
	// IgnoreTargetID ignores target_id in audit log queries. Only Discord's OpenAPI
	// description has this parameter.
	IgnoreTargetID bool
	// HeartbeatInterval is the interval in HELLO; default 41.25 s. A client without heartbeats gets
	// close code 4009 after one and a half intervals.
	HeartbeatInterval time.Duration
	// SessionLife is the longest time from a disconnect to RESUME (undocumented); default 3 min.
	SessionLife time.Duration
	// ShowHidden shows channels that the bot may not view, as Discord did until 16 November 2026.
	// By default, the Gateway obfuscates them, and GET /guilds/{guild_id}/channels omits them.
	ShowHidden bool
	// Compatible simulates a server with a Discord-compatible API, as observed on one such server:
	//
	//   - errors have the HTTP status as code, except missing permissions (status 400, code 50013);
	//   - a parent_id of null gets 500;
	//   - overwrites apply in the sent order, new channels inherit none, no channels are hidden;
	//   - guild settings have no roles, and the audit log is empty;
	//   - CHANNEL_UPDATE and responses about one channel (except to DELETE) have no position;
	//   - edits of nsfw, rate_limit_per_user and a guild's description have no effect;
	//   - CHANNEL_UPDATE and CHANNEL_DELETE come twice for channels that existed when the session
	//     started, and never for newer channels.
	Compatible bool
	// Normalise replaces NormaliseName, because the order of steps in NormaliseName is a guess.
	Normalise func(name string) string
	// AnyUserAgent accepts every User-Agent; default: only "DiscordBot (url, version)" for bots.
	AnyUserAgent bool
	// AllowGuildDeletion lets bots delete their own guilds, as Discord did until July 2025.
	AllowGuildDeletion bool
	// KeepRequests is the number of newest calls that Server.Requests returns; default 20000.
	KeepRequests int
	// Log receives the simulator's messages, never tokens; default: discarded.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	o.ShowHidden = o.ShowHidden || o.Compatible
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Limits == nil {
		o.Limits = limits.Default()
	}
	if o.AuditDelay == 0 {
		o.AuditDelay = 500 * time.Millisecond
	}
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = 41250 * time.Millisecond
	}
	if o.SessionLife == 0 {
		o.SessionLife = 3 * time.Minute
	}
	if o.Normalise == nil {
		o.Normalise = channels.NormaliseName
	}
	if o.KeepRequests == 0 {
		o.KeepRequests = 20000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
