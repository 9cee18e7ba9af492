package discordtest

import (
	"log/slog"
	"time"
)

// Options configure a simulated Discord. The zero value is as near to the real one as is known; see the package's list of
// what is not like it.
type Options struct {
	// Listen is the TCP address for Start; default "127.0.0.1:0" (a free port on loopback).
	Listen string
	// PublicURL is what clients are told to use (Gateway address, webhook URLs), without a trailing slash. Default: the
	// address that Start listens on. Set it when clients come through a proxy or from inside a cluster.
	PublicURL string
	// Clock is where the clock stands at the start; zero means the present.
	Clock time.Time
	// Frozen makes the clock stand still: only Advance moves it. Otherwise it runs with real time and Advance jumps.
	Frozen bool
	// Seed drives everything random (fault probabilities, tokens), so that a run can be repeated. Default 1.
	Seed uint64
	// Limits are the rate and quantity limits; nil means DefaultLimits.
	Limits *Limits
	// AuditDelay is how long after an action its audit log entry becomes visible; default 500 ms. Negative: at once.
	// Discord promises no bound.
	AuditDelay time.Duration
	// HeartbeatInterval is what HELLO tells clients; default 41.25 s. A client that sends no heartbeat for one and a half
	// intervals is closed with 4009.
	HeartbeatInterval time.Duration
	// SessionLife is how long a Gateway session without a connection may be resumed; default 3 min. Discord names no time.
	SessionLife time.Duration
	// HideUnseen leaves channels that a bot cannot see out of GET /guilds/{guild_id}/channels, GUILD_CREATE and the
	// CHANNEL_* events. Discord lists them today and means to stop. What becomes hidden just falls silent, which is a guess.
	HideUnseen bool
	// Normalise rewrites the names of text-like channels; default NormaliseName. Discord's exact order of steps is not
	// documented, so tests can put another one here.
	Normalise func(name string) string
	// AnyUserAgent accepts bot requests without a "DiscordBot (url, version)" user agent, which Discord may block.
	AnyUserAgent bool
	// AllowGuilds lets bots make guilds and delete those they own, as Discord did until July 2025 and compatible servers
	// still do. Otherwise both are refused with 20001.
	AllowGuilds bool
	// KeepRequests is how many requests Requests remembers; default 20000. Counts are never forgotten.
	KeepRequests int
	// Log receives what the simulator has to say (never tokens); default: nothing.
	Log *slog.Logger
}

// withDefaults fills what was left out.
func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Limits == nil {
		o.Limits = DefaultLimits()
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
		o.Normalise = NormaliseName
	}
	if o.KeepRequests == 0 {
		o.KeepRequests = 20000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Limits are what Discord allows. Times are on the simulator's clock.
type Limits struct {
	// Channels per guild including categories (error 30013); Discord: 500. Real Discord lets fast creation overshoot
	// to 513-517, see ChannelSlack.
	Channels int
	// ChannelSlack is by how many channels Discord may overshoot Channels; default 0.
	ChannelSlack int
	// ChannelsPerCategory: Discord 50 (error 50035 with CHANNEL_PARENT_MAX_CHANNELS).
	ChannelsPerCategory int
	// Categories per guild: 50, seen by the community (error 30013 is a guess).
	Categories int
	// Webhooks per channel (30007) and per guild (30058).
	WebhooksPerChannel, WebhooksPerGuild int
	// OverwritesPerChannel: 1000 (30060).
	OverwritesPerChannel int

	// Global is the limit over all REST calls of one bot; Discord: 50 per second. Webhook execution is exempt.
	Global Rate
	// Routes holds the bucket of each route by "METHOD /template" (see Routes); a missing one takes Default.
	Routes map[string]Rate
	// Default is the bucket of routes that Routes does not name.
	Default Rate
	// Buckets has routes share a bucket: those with the same name here, which is the one that Routes knows it by. Which
	// routes share one on Discord is not published; clients learn it from the X-RateLimit-Bucket header.
	Buckets map[string]string
	// NameTopic is the hidden limit of changes of one channel's name or topic; Discord: 2 per 10 minutes. Whether each has a
	// window of its own there is not known: NameAndTopicApart.
	NameTopic         Rate
	NameAndTopicApart bool
	// WebhookChannel is the second limit of webhook execution, per channel, which headers do not show; 30 per minute.
	WebhookChannel Rate
	// Invalid is how many 401, 403 and 429 (shared ones excepted) an address may collect before it is banned.
	Invalid Rate
	// Ban is how long such a ban lasts.
	Ban time.Duration

	// Identify is how many sessions may be started (IDENTIFY) per window: more are answered with op 9. Discord's
	// max_concurrency: 1 per 5 s.
	Identify Rate
	// SessionStarts per day; one more resets the bot's token. Discord: 1000 per 24 h.
	SessionStarts Rate
	// GatewaySends is how many frames a client may send per window before it is closed with 4008; 120 per 60 s.
	GatewaySends Rate
}

// Rate is N per window of time. N of zero means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// DefaultLimits are Discord's, as far as they are known. Buckets of single routes are unpublished; the ones here are
// of the seen order of magnitude.
func DefaultLimits() *Limits {
	l := NoRateLimits()
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
		"GET /users/@me/guilds":                                 {2, time.Second},
		"PUT /channels/{channel_id}/permissions/{overwrite_id}": {10, 15 * time.Second},
	}
	return l
}

// NoRateLimits keeps the limits of quantity (500 channels ...) and drops every limit of rate: for tests about
// something else that must not wait.
func NoRateLimits() *Limits {
	return &Limits{
		Channels: 500, ChannelsPerCategory: 50, Categories: 50,
		WebhooksPerChannel: 15, WebhooksPerGuild: 1000, OverwritesPerChannel: 1000,
		Ban: 24 * time.Hour,
	}
}
