// SPDX-License-Identifier: Apache-2.0

// Package limits has Discord's rate and quantity limits, and counts events in time windows.
package limits

import (
	"time"
)

// Limits are Discord's rate and quantity limits. Numbers in parentheses are Discord's error codes.
type Limits struct {
	// Channels is the maximum of channels and categories per guild (30013); Discord: 500. With fast
	// creates, Discord's guilds can reach 513 to 517 channels; see ChannelSlack.
	Channels int
	// ChannelSlack is the number of channels by which a guild may exceed Channels; default 0.
	ChannelSlack int
	// ChannelsPerCategory is the maximum per category (50035, with the inner code
	// CHANNEL_PARENT_MAX_CHANNELS); Discord: 50.
	ChannelsPerCategory int
	// Categories is the maximum per guild; users report 50. The code 30013 is a guess.
	Categories int
	// Roles is the maximum per guild (30005); Discord: 250. It is a guess that @everyone counts.
	Roles int
	// WebhooksPerChannel (30007) and WebhooksPerGuild (30058); Discord: 15 and 1000.
	WebhooksPerChannel, WebhooksPerGuild int
	// OverwritesPerChannel is the maximum number of overwrites of a channel (30060); Discord: 1000.
	OverwritesPerChannel int
	// GuildsPerSession is the number of guilds at which a bot needs shards (4011); Discord: 2500.
	GuildsPerSession int

	// Global limits all REST calls of one bot except webhook executions; Discord: 50 per second.
	Global Rate
	// Routes maps a route, such as "POST /guilds/{guild_id}/channels", to its rate limit.
	Routes map[string]Rate

	Default Rate
	// Buckets maps routes with a common rate limit to the bucket's key in Routes. Discord does not
	// publish the buckets; clients learn them from the X-RateLimit-Bucket header.
	Buckets map[string]string
	// Sliding counts each call for the duration Rate.Per, and X-RateLimit-Reset is the end of the
	// oldest call's duration. Without Sliding, all calls count until the end of a fixed window.
	// Discord documents neither kind.
	Sliding bool
	// ChannelCreates (per guild) and WebhookCreates (per channel) are limits without a header, as
	// users report. It is a guess that the 429 of these limits has scope user.
	ChannelCreates, WebhookCreates Rate
	// NameTopic limits changes of a channel's name or topic. No header shows this limit. Discord: 2
	// per 10 minutes. NameAndTopicApart gives the name and the topic separate limits; Discord may
	// do so.
	NameTopic         Rate
	NameAndTopicApart bool
	// WebhookChannel limits a channel's webhook executions, without header. Discord: 30 per minute.
	WebhookChannel Rate
	// Invalid is the limit of 401, 403 and 429 responses before a ban of the IP address. A 429 with
	// scope shared does not count. Discord: 10,000 per 10 minutes.
	Invalid Rate

	Ban time.Duration

	// An IDENTIFY over the limit Identify gets op 9. Discord: 1 per 5 s (max_concurrency).
	Identify Rate
	// A session over the limit SessionStarts resets the bot's token. Discord: 1000 per 24 h.
	SessionStarts Rate
	// A client's frame over the limit GatewaySends gets close code 4008. Discord: 120 per 60 s.
	GatewaySends Rate
}

// Rate is at most N calls or events per time window Per. N = 0 means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Default returns Discord's known limits. Discord does not publish the rate limits of single
// routes, so these have the order of magnitude that users report.
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

// Strict returns Default with guesses for limits that Discord does not publish: sliding windows,
// shared buckets, and limits of creates.
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

// None returns only the quantity limits, for tests that must not wait.
func None() *Limits {
	return &Limits{
		Channels: 500, ChannelsPerCategory: 50, Categories: 50, Roles: 250,
		WebhooksPerChannel: 15, WebhooksPerGuild: 1000, OverwritesPerChannel: 1000, GuildsPerSession: 2500,
		Ban: 24 * time.Hour,
	}
}
