// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"log/slog"
	"time"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/rest/channels"
)

// Options configure a simulated Discord. The zero value is as close to Discord as possible; the
// package comment lists the differences.
type Options struct {
	// Listen is the TCP address for Start; default "127.0.0.1:0" (a free port on loopback).
	Listen string
	// PublicURL is the address for clients (Gateway, webhook URLs), without a trailing slash.
	// Default: Start's address. Set it for clients behind a proxy or in a cluster.
	PublicURL string
	// Clock is the initial time; zero means now.
	Clock time.Time
	// Frozen lets only Advance move the clock. Otherwise it
	// runs with real time, and Advance moves it forward.
	Frozen bool
	// Seed makes everything random (faults, tokens) repeatable. Default 1.
	Seed uint64
	// Limits are the rate and quantity limits; nil means DefaultLimits. StrictLimits has more.
	Limits *Limits
	// Weakness makes responses wrong for a moment; default: never. Weaken changes it.
	Weakness Weakness
	// Altered makes stored values differ from sent ones; default: none.
	Altered Altered
	// AuditDelay is the time until an action's audit log entry is visible; default 500 ms. A
	// negative value means no delay. Discord promises no bound.
	AuditDelay time.Duration
	// AuditJitter is the longest additional delay; default none. Each entry has a random delay, so
	// entries may appear out of order.
	AuditJitter time.Duration
	// IgnoreTargetID makes the audit log ignore the filter target_id, which only the OpenAPI
	// description has.
	IgnoreTargetID bool
	// HeartbeatInterval is the interval in HELLO; default 41.25 s. The Gateway closes a client with
	// 4009 if it sends no heartbeat for one and a half intervals.
	HeartbeatInterval time.Duration
	// SessionLife is the time in which a Gateway session without a connection can be resumed;
	// default 3 min. Discord documents no time.
	SessionLife time.Duration
	// ShowHidden sends bots the channels that they may not view, like all others, as Discord did
	// until 16 November 2026. By default the Gateway obfuscates these channels, and GET
	// /guilds/{guild_id}/channels omits them.
	ShowHidden bool
	// Compatible simulates a compatible server, as one was observed to behave:
	//
	//   - HTTP statuses instead of Discord's error codes, except 400 with 50013 for missing
	//     permissions, and 500 for a parent_id of null;
	//   - permission overwrites apply in the order in which they were sent, a new channel gets none
	//     from its category, and no channels are hidden;
	//   - no roles in GET /guilds/{guild_id}, no position in responses about one channel and in
	//     CHANNEL_UPDATE, an audit log that is always empty;
	//   - edits of nsfw, rate_limit_per_user and a guild's description succeed without an effect;
	//   - channel events, twice each, only for channels that existed when the session started.
	Compatible bool
	// Normalise returns the stored names of text-like channels; default NormaliseName. Discord does
	// not document the order of its steps, so tests can replace the function.
	Normalise func(name string) string
	// AnyUserAgent also accepts requests of bots without a user agent "DiscordBot (url, version)".
	// Discord may block such requests.
	AnyUserAgent bool
	// AllowGuildDeletion lets bots delete their own guilds, as Discord did until July 2025 and
	// compatible servers still do. Otherwise it is refused with 20001.
	AllowGuildDeletion bool
	// KeepRequests bounds the remembered Requests; default 20000. Counts are always complete.
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
