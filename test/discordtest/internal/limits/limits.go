// SPDX-License-Identifier: Apache-2.0

// Package limits has Discord's limits, and counts the
// events of REST and the Gateway in time windows.
package limits

import (
	"time"
)

// Limits are Discord's limits. Times are on the simulator's clock.
type Limits struct {
	// Channels per guild including categories (error 30013); Discord: 500. On Discord, fast creates
	// may exceed the limit and reach 513 to 517 channels; see ChannelSlack.
	Channels int
	// ChannelSlack is the number of channels by which a guild may exceed Channels. Default 0.
	ChannelSlack int
	// ChannelsPerCategory is 50 on Discord (error 50035 with CHANNEL_PARENT_MAX_CHANNELS).
	ChannelsPerCategory int
	// Categories per guild: 50, reported by the community (error 30013 is a guess).
	Categories int
	// Roles per guild: 250 (30005). That @everyone counts is a guess.
	Roles int
	// Webhooks per channel (30007) and per guild (30058).
	WebhooksPerChannel, WebhooksPerGuild int
	// OverwritesPerChannel: 1000 (30060).
	OverwritesPerChannel int
	// GuildsPerSession is the number of guilds at which a bot needs more than one Gateway session
	// (4011); Discord: 2500.
	GuildsPerSession int

	// Global limits all REST calls of one bot; Discord: 50 per second. Webhook execution is exempt.
	Global Rate
	// Routes maps a route, such as "POST /guilds/{guild_id}/channels", to its rate. Routes that are
	// not in the map use Default.
	Routes map[string]Rate
	// Default is the rate of each route that is not in Routes.
	Default Rate
	// Buckets makes routes share a bucket. It maps a route to the
	// bucket's key in Routes. Discord does not publish which routes share
	// a bucket; clients learn it from the X-RateLimit-Bucket header.
	Buckets map[string]string
	// Sliding makes each call count for the duration Per, and not until the end of a fixed window.
	// Headers then have the time of the next free call. Discord's behaviour is not documented.
	Sliding bool
	// ChannelCreates (per guild) and WebhookCreates (per channel) are hidden limits: no header
	// shows them before the 429. Users report both; Discord publishes neither. The scope of the 429
	// (user) is a guess.
	ChannelCreates, WebhookCreates Rate
	// NameTopic is the hidden limit on changes of one channel's name or topic; Discord: 2 per 10
	// minutes. NameAndTopicApart counts changes of the name and of the topic separately; Discord's
	// behaviour is not known.
	NameTopic         Rate
	NameAndTopicApart bool
	// WebhookChannel is the second limit of webhook execution. It counts per channel, and no header
	// shows it. 30 per minute.
	WebhookChannel Rate
	// Invalid is the number of 401, 403 and 429 responses after which an address is banned. 429
	// with the scope shared does not count.
	Invalid Rate
	// Ban is the duration of a ban.
	Ban time.Duration

	// Identify limits the IDENTIFYs in a window. Each further IDENTIFY gets op 9. Discord's
	// max_concurrency: 1 per 5 s.
	Identify Rate
	// SessionStarts limits the session starts in a window. A further start resets the bot's token.
	// Discord: 1000 per 24 h.
	SessionStarts Rate
	// GatewaySends limits a client's frames in a window. A further frame closes the connection with
	// 4008. Discord: 120 per 60 s.
	GatewaySends Rate
}

// Rate is N per window of time. An N of zero means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Default returns Discord's known limits. Discord does not publish the limits of single routes, so
// Default uses figures of the order of magnitude that users report.
func Default() *Limits {
	l := None()
	l.Global = Rate{50, time.Second}
	l.Default = Rate{10, 2 * time.Second}
	l.NameTopic = Rate{2, 10 * time.Minute}
	l.WebhookChannel = Rate{30, time.Minute}
	l.Invalid = Rate{10000, 10 * time.Minute}
	l.Identify = Rate{1, 5 * time.Second}
	l.SessionStarts = Rate{1000, 24 * time.Hour}
	l.GatewaySends = Rate{120, time.Minute}
	l.Routes = map[string]Rate{
		"PATCH /channels/{channel_id}":                          {5, 15 * time.Second},
		"PATCH /guilds/{guild_id}":                              {5, 15 * time.Second},
		"POST /webhooks/{webhook_id}/{webhook_token}":           {5, 2 * time.Second},
		"POST /channels/{channel_id}/messages":                  {5, 5 * time.Second},
		"POST /guilds/{guild_id}/channels":                      {20, 10 * time.Second},
		"PATCH /guilds/{guild_id}/channels":                     {5, 5 * time.Second},
		"POST /channels/{channel_id}/webhooks":                  {5, 5 * time.Second},
		"GET /gateway":                                          {50, time.Second},
		"GET /webhooks/{webhook_id}/{webhook_token}":            {5, 2 * time.Second},
		"POST /guilds/{guild_id}/roles":                         {20, 10 * time.Second},
		"PATCH /guilds/{guild_id}/roles":                        {5, 5 * time.Second},
		"GET /users/@me/guilds":                                 {2, time.Second},
		"PUT /channels/{channel_id}/permissions/{overwrite_id}": {10, 15 * time.Second},
	}
	return l
}

// Strict returns Default with Discord's possible unpublished limits: sliding windows, shared
// buckets, hidden limits of creates. The figures are guesses.
func Strict() *Limits {
	l := Default()
	l.Sliding = true
	l.ChannelCreates = Rate{60, time.Minute}
	l.WebhookCreates = Rate{10, time.Minute}
	l.Routes["a channel"] = l.Routes["PATCH /channels/{channel_id}"]
	l.Routes["channels of a guild"] = l.Routes["POST /guilds/{guild_id}/channels"]
	l.Buckets = map[string]string{
		"PATCH /channels/{channel_id}": "a channel", "DELETE /channels/{channel_id}": "a channel",
		"POST /guilds/{guild_id}/channels": "channels of a guild", "PATCH /guilds/{guild_id}/channels": "channels of a guild",
	}
	return l
}

// None returns the limits of quantity (500 channels ...) without any rate limit, for tests that
// must not wait.
func None() *Limits {
	return &Limits{
		Channels: 500, ChannelsPerCategory: 50, Categories: 50, Roles: 250,
		WebhooksPerChannel: 15, WebhooksPerGuild: 1000, OverwritesPerChannel: 1000, GuildsPerSession: 2500,
		Ban: 24 * time.Hour,
	}
}
