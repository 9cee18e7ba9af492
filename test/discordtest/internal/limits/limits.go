// SPDX-License-Identifier: Apache-2.0

// Package limits has how much of what Discord allows, and the windows of time in which REST and the
// Gateway count it.
package limits

import (
	"time"
)

// Limits are what Discord allows. Times are on the simulator's clock.
type Limits struct {
	// Channels per guild including categories (error 30013); Discord: 500. Real Discord lets fast
	// creation overshoot to 513-517, see ChannelSlack.
	Channels int
	// ChannelSlack is by how many channels Discord may overshoot Channels; default 0.
	ChannelSlack int
	// ChannelsPerCategory: Discord 50 (error 50035 with CHANNEL_PARENT_MAX_CHANNELS).
	ChannelsPerCategory int
	// Categories per guild: 50, seen by the community (error 30013 is a guess).
	Categories int
	// Roles per guild: 250 (30005); that @everyone counts is a guess.
	Roles int
	// Webhooks per channel (30007) and per guild (30058).
	WebhooksPerChannel, WebhooksPerGuild int
	// OverwritesPerChannel: 1000 (30060).
	OverwritesPerChannel int
	// GuildsPerSession is from how many guilds on a bot needs more than one Gateway session (4011);
	// Discord: 2500.
	GuildsPerSession int

	// Global is the limit over all REST calls of one bot; Discord: 50 per second. Webhook execution
	// is exempt.
	Global Rate
	// Routes holds the bucket of each route by "METHOD /template" (see Routes); a missing one takes
	// Default.
	Routes map[string]Rate
	// Default is the bucket of routes that Routes does not name.
	Default Rate
	// Buckets has routes share a bucket: those with the same name here, which is the one that
	// Routes knows it by. Which routes share one on Discord is not published; clients learn it from
	// the X-RateLimit-Bucket header.
	Buckets map[string]string
	// Sliding has each call count for its own Per, instead of all calls of a window until its end.
	// Headers then say when the next call is free, not when all are. What Discord does is not
	// documented.
	Sliding bool
	// ChannelCreates, per guild, and WebhookCreates, per channel, are hidden limits of creates: no
	// header shows them before the 429. Discord is said to have both and publishes neither; the
	// scope of their 429 (user) is a guess.
	ChannelCreates, WebhookCreates Rate
	// NameTopic is the hidden limit of changes of one channel's name or topic; Discord: 2 per 10
	// minutes. Whether each has a window of its own there is not known: NameAndTopicApart.
	NameTopic         Rate
	NameAndTopicApart bool
	// WebhookChannel is the second limit of webhook execution, per channel, which headers do not
	// show; 30 per minute.
	WebhookChannel Rate
	// Invalid is how many 401, 403 and 429 (shared ones excepted) an address may collect before it
	// is banned.
	Invalid Rate
	// Ban is how long such a ban lasts.
	Ban time.Duration

	// Identify is how many sessions may be started (IDENTIFY) per window: more are answered with op
	// 9. Discord's max_concurrency: 1 per 5 s.
	Identify Rate
	// SessionStarts per day; one more resets the bot's token. Discord: 1000 per 24 h.
	SessionStarts Rate
	// GatewaySends is how many frames a client may send per window before it is closed with 4008;
	// 120 per 60 s.
	GatewaySends Rate
}

// Rate is N per window of time. N of zero means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Default are Discord's, as far as they are known. Buckets of single routes are unpublished; the
// ones here are of the seen order of magnitude.
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

// Strict are Default with all that Discord may do and does not publish: sliding windows, buckets that
// routes share, hidden limits of creates. The figures are guesses.
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

// None keeps the limits of quantity (500 channels ...) and drops every limit of rate: for tests
// about something else that must not wait.
func None() *Limits {
	return &Limits{
		Channels: 500, ChannelsPerCategory: 50, Categories: 50, Roles: 250,
		WebhooksPerChannel: 15, WebhooksPerGuild: 1000, OverwritesPerChannel: 1000, GuildsPerSession: 2500,
		Ban: 24 * time.Hour,
	}
}
