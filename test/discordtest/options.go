// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"log/slog"
	"time"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/rest/channels"
)

// Options configure a simulated Discord. The zero value is as close to Discord as possible. The
// package comment lists the remaining differences.
type Options struct {
	// Listen is the TCP address for Start; default "127.0.0.1:0" (a free port on loopback).
	Listen string
	// PublicURL is the base of the URLs that clients get, without a trailing slash; default: the
	// address of Start. Set it for clients behind a proxy or in a cluster.
	PublicURL string
	// Clock is the initial time; zero means now.
	Clock time.Time
	// Frozen stops the simulator's clock, so that only Server.Advance moves it. Without Frozen, the
	// clock follows real time, and Advance moves it forward in addition.
	Frozen bool
	// Seed is the seed of all random values (faults, tokens); default 1.
	Seed uint64
	// Limits are the rate and quantity limits; nil means DefaultLimits.
	Limits *Limits
	// Weakness makes random REST responses wrong: stale, missing, 401, 403 or 5xx. With the zero
	// value, no response is wrong. Server.Weaken replaces the value later.
	Weakness Weakness
	// Altered makes the simulator change or ignore sent values; default: neither.
	Altered Altered
	// AuditDelay is the time between a change and the appearance of its audit log entry; default
	// 500 ms. A negative value means no delay. Discord documents no maximum for this delay.
	AuditDelay time.Duration
	// AuditJitter is the maximum of a random delay that each audit log entry gets in addition to
	// AuditDelay; default none. With it, entries may appear in another order than their changes.
	AuditJitter time.Duration
	// IgnoreTargetID makes the audit log ignore the query parameter target_id, which Discord
	// documents only in its OpenAPI description.
	IgnoreTargetID bool
	// HeartbeatInterval is the interval in the Gateway's HELLO; default 41.25 s. If a client sends
	// no heartbeat for one and a half intervals, the Gateway closes the connection with 4009.
	HeartbeatInterval time.Duration
	// SessionLife is the time after a disconnect in which a client can resume a Gateway session;
	// default 3 min. Discord documents no such time.
	SessionLife time.Duration
	// ShowHidden makes the Gateway and GET /guilds/{guild_id}/channels send all channels in full,
	// even channels that the bot may not view, as Discord did until 16 November 2026. By default
	// the Gateway obfuscates the channels that the bot may not view, and the list omits them.
	ShowHidden bool
	// Compatible simulates a server with a Discord-compatible API that differs from Discord. The
	// differences were observed on one such server:
	//
	//   - errors have the HTTP status as their code instead of Discord's error code, but missing
	//     permissions get status 400 with code 50013; a parent_id of null gets 500;
	//   - permission overwrites apply in the order in which they were sent, a new channel gets none
	//     from its category, and no channels are hidden;
	//   - responses about the settings of a guild have no roles, CHANNEL_UPDATE and responses about
	//     one channel (except to DELETE) have no position, and the audit log is always empty;
	//   - edits of nsfw, rate_limit_per_user and a guild's description succeed without an effect;
	//   - the Gateway sends CHANNEL_UPDATE and CHANNEL_DELETE twice for channels that existed when
	//     the session started, and never for newer channels.
	Compatible bool
	// Normalise returns the name that Discord stores for a text, announcement, forum or media
	// channel; default NormaliseName. Discord does not document in which order it changes a name.
	Normalise func(name string) string
	// AnyUserAgent accepts bots whose User-Agent is not "DiscordBot (url, version)". By default,
	// these bots get 403, because Discord may block them.
	AnyUserAgent bool
	// AllowGuildDeletion lets bots delete the guilds that they own, as Discord did until July 2025
	// and compatible servers still do. By default the simulator refuses the deletion with 20001.
	AllowGuildDeletion bool
	// KeepRequests is the number of newest calls that Server.Requests returns; default 20000.
	// Server.RequestCounts counts all calls.
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
