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
	// Frozen stops the clock, so that only Advance moves it. Without Frozen, the clock follows real
	// time, and Advance moves it forward.
	Frozen bool
	// Seed makes everything random (faults, tokens) repeatable. Default 1.
	Seed uint64
	// Limits are the rate and quantity limits; nil means DefaultLimits. StrictLimits adds limits.
	Limits *Limits
	// Weakness makes random responses wrong. The zero value makes none wrong. Weaken changes it
	// later.
	Weakness Weakness
	// Altered makes Discord store other values than a client has sent; default: the same values.
	Altered Altered
	// AuditDelay is the time between an action and the appearance of its audit log entry; default
	// 500 ms. A negative value means no delay. Discord documents no limit for this time.
	AuditDelay time.Duration
	// AuditJitter is the longest time that an audit log entry is delayed in addition to AuditDelay;
	// default none. Each entry gets a random delay, so entries may appear out of order.
	AuditJitter time.Duration
	// IgnoreTargetID makes the audit log ignore the filter target_id. Discord documents this filter
	// only in the OpenAPI description.
	IgnoreTargetID bool
	// HeartbeatInterval is the interval in HELLO; default 41.25 s. The Gateway closes a client with
	// 4009 if it sends no heartbeat for one and a half intervals.
	HeartbeatInterval time.Duration
	// SessionLife is the time after a disconnect in which a client can resume a Gateway session;
	// default 3 min. Discord documents no such time.
	SessionLife time.Duration
	// ShowHidden shows bots all channels, also channels that they may not view, as Discord did
	// until 16 November 2026. By default the Gateway obfuscates the channels that a bot may not
	// view, and GET /guilds/{guild_id}/channels omits them.
	ShowHidden bool
	// Compatible simulates a server that implements Discord's API only in part. The differences
	// were observed on such a server:
	//
	//   - errors have the HTTP status instead of Discord's error code, except 400 with 50013 for
	//     missing permissions, and 500 for a parent_id of null;
	//   - permission overwrites apply in the order in which they were sent, a new channel gets none
	//     from its category, and no channels are hidden;
	//   - GET /guilds/{guild_id} has no roles, responses about one channel and CHANNEL_UPDATE have
	//     no position, and the audit log is always empty;
	//   - edits of nsfw, rate_limit_per_user and a guild's description succeed without an effect;
	//   - the Gateway sends each channel event twice, and only for channels that existed when the
	//     session started.
	Compatible bool
	// Normalise returns the name that Discord stores for a text-like channel; default
	// NormaliseName. Discord does not document the order of the steps, so tests can set another
	// function.
	Normalise func(name string) string
	// AnyUserAgent also accepts requests of bots without a user agent "DiscordBot (url, version)".
	// Discord may block such requests.
	AnyUserAgent bool
	// AllowGuildDeletion lets bots delete the guilds that they own, as Discord did until July 2025
	// and compatible servers still do. Otherwise the simulator refuses the deletion with 20001.
	AllowGuildDeletion bool
	// KeepRequests is the number of calls that Requests remembers; default 20000. RequestCounts
	// counts all calls.
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
