// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"log/slog"
	"time"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/rest/channels"
)

// Options configure a simulated Discord. The zero value is as near to the real one as is known; see
// the package's list of what is not like it.
type Options struct {
	// Listen is the TCP address for Start; default "127.0.0.1:0" (a free port on loopback).
	Listen string
	// PublicURL is what clients get as address (Gateway, webhook URLs), without a trailing slash.
	// Default: the address that Start listens on. Set it when clients come through a proxy or from
	// inside a cluster.
	PublicURL string
	// Clock is where the clock stands at the start; zero means the present.
	Clock time.Time
	// Frozen makes the clock stand still: only Advance moves it. Otherwise it runs with real time
	// and Advance jumps.
	Frozen bool
	// Seed drives everything random (fault probabilities, tokens), so that a run can be repeated.
	// Default 1.
	Seed uint64
	// Limits are the rate and quantity limits; nil means DefaultLimits. StrictLimits has more.
	Limits *Limits
	// Weakness is how answers may be wrong for a moment; the default is never. Weaken changes it.
	Weakness Weakness
	// Altered is what is stored otherwise than it was sent, or ignored; default: nothing.
	Altered Altered
	// AuditDelay is how long after an action its audit log entry becomes visible; default 500 ms.
	// Negative: at once. Discord promises no bound.
	AuditDelay time.Duration
	// AuditJitter is how much later still an entry may become visible: each takes a random time up
	// to it. Default none. Entries may so appear in another order than they were made in.
	AuditJitter time.Duration
	// IgnoreTargetID has the audit log ignore the filter target_id, which the OpenAPI description
	// has and the reference has not.
	IgnoreTargetID bool
	// HeartbeatInterval is what HELLO asks of clients; default 41.25 s. A client that sends no
	// heartbeat for one and a half intervals is closed with 4009.
	HeartbeatInterval time.Duration
	// SessionLife is how long a Gateway session without a connection may be resumed; default 3 min.
	// Discord names no time.
	SessionLife time.Duration
	// ShowHidden sends bots the channels that they may not view as all others, as Discord did until
	// 16 November 2026. By default the Gateway has them obfuscated, and GET
	// /guilds/{guild_id}/channels leaves them out.
	ShowHidden bool
	// Compatible makes it a server of other people's making, with what such a one was seen to do:
	//   - HTTP statuses in the place of Discord's error codes, but 400 with 50013 for what is not
	//     permitted, and 500 for a parent_id of null;
	//   - permission overwrites that apply in the order in which they were sent, and that no new
	//     channel gets from its category; no hidden channels;
	//   - no roles in GET /guilds/{guild_id}, no position in answers about one channel and in
	//     CHANNEL_UPDATE, an audit log that is always empty;
	//   - edits of nsfw, rate_limit_per_user and a guild's description that are answered and not applied;
	//   - events of channels only for those that were there when the session started, and those twice.
	Compatible bool
	// Normalise rewrites the names of text-like channels; default NormaliseName. Discord's exact
	// order of steps is not documented, so tests can put another one here.
	Normalise func(name string) string
	// AnyUserAgent accepts bot requests without a "DiscordBot (url, version)" user agent, which
	// Discord may block.
	AnyUserAgent bool
	// AllowGuildDeletion lets bots delete guilds that they own, as Discord did until July 2025
	// and compatible servers still do. Otherwise that is refused with 20001.
	AllowGuildDeletion bool
	// KeepRequests is how many requests Requests remembers; default 20000. Counts are never
	// forgotten.
	KeepRequests int
	// Log receives what the simulator has to say (never tokens); default: nothing.
	Log *slog.Logger
}

// withDefaults fills what was left out.
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
