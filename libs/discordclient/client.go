package discordclient

import (
	"context"
	"time"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// REST is every call of Discord's REST API that the operators make. Each method makes one request (but for
// [REST.ListMemberships], which reads page after page), never waits and never repeats anything. Errors are *[Error] and
// *[RateLimited]; [ClassOf] says what to do about them.
//
// reason goes into the guild's audit log; it is cut to 512 encoded characters; empty for none.
type REST interface {
	GetGuild(ctx context.Context, guildID string) (Guild, error)
	// CreateGuild cannot be repeated. Discord refuses it to bots since July 2025 (ClassDenied).
	CreateGuild(ctx context.Context, in GuildCreate) (Guild, error)
	EditGuild(ctx context.Context, guildID string, edit GuildEdit, reason string) (Guild, error)
	// DeleteGuild deletes a guild that the bot owns. Discord has withdrawn the call together with CreateGuild (ClassDenied);
	// compatible servers may not have.
	DeleteGuild(ctx context.Context, guildID string) error
	// LeaveGuild takes the bot out of a guild, which stays as it is. Only a person can bring the bot back.
	LeaveGuild(ctx context.Context, guildID string) error
	ListRoles(ctx context.Context, guildID string) ([]Role, error)
	// ListMemberships tells which guilds the bot is in and what it may do there.
	ListMemberships(ctx context.Context) ([]Membership, error)

	ListChannels(ctx context.Context, guildID string) ([]*Channel, error)
	GetChannel(ctx context.Context, channelID string) (*Channel, error)
	// CreateChannel cannot be repeated: after ClassUnknown ask [RecoverChannel] first.
	CreateChannel(ctx context.Context, guildID string, in ChannelCreate, reason string) (*Channel, error)
	EditChannel(ctx context.Context, channelID string, edit ChannelEdit, reason string) (*Channel, error)
	DeleteChannel(ctx context.Context, channelID, reason string) error
	// MoveChannels changes positions of many channels, and the parent of one, in one request. Its reason cannot be told
	// to the audit log.
	MoveChannels(ctx context.Context, guildID string, moves []ChannelMove) error
	SetOverwrite(ctx context.Context, channelID string, o Overwrite, reason string) error
	DeleteOverwrite(ctx context.Context, channelID, overwriteID, reason string) error

	// CreateWebhook cannot be repeated: after ClassUnknown list those of the channel first, where it has its token.
	CreateWebhook(ctx context.Context, channelID string, in WebhookCreate, reason string) (Webhook, error)
	ListChannelWebhooks(ctx context.Context, channelID string) ([]Webhook, error)
	ListGuildWebhooks(ctx context.Context, guildID string) ([]Webhook, error)
	GetWebhook(ctx context.Context, webhookID string) (Webhook, error)
	EditWebhook(ctx context.Context, webhookID string, edit WebhookEdit, reason string) (Webhook, error)
	DeleteWebhook(ctx context.Context, webhookID, reason string) error
	// ExecuteWebhook posts a message; it uses the webhook's token and not the bot's. It cannot be repeated.
	ExecuteWebhook(ctx context.Context, hook Webhook, m WebhookMessage) (Message, error)

	ListAuditLog(ctx context.Context, guildID string, q AuditQuery) ([]AuditEntry, error)
	CurrentUser(ctx context.Context) (User, error)
	CurrentApplication(ctx context.Context) (Application, error)
	GatewayStart(ctx context.Context) (GatewayStart, error)
}

// Client is Discord for one bot: calls, and a live view of its guilds that the calls keep up to date.
type Client interface {
	REST

	// Guild returns the live view of a guild and keeps it true from now on, as long as Run runs. Calling it again
	// returns the same view.
	Guild(guildID string) *View
	// Forget ends the polling of a guild that nobody manages any more.
	Forget(guildID string)
	// Refresh reads a guild by REST, one GET of the guild and one of its channels, into its view.
	Refresh(ctx context.Context, guildID string) error
	// MayCreateChannel tells, as an error of CreateChannel, what such a call would be refused for now without asking Discord: a
	// *[RateLimited], or a refused token. Nil promises nothing. Ask it before noting an intent that a crash would leave open.
	MayCreateChannel(guildID string) error
	// Subscribe returns a channel of what changed on Discord by others' hands. Events of the same object that were not
	// taken yet are told once. The channel is closed when the context ends.
	Subscribe(ctx context.Context) <-chan Event
	// Run keeps the views true, through the Gateway or by polling, until the context ends (then it returns nil) or the
	// token is refused (then a *Error with ClassBadToken). Call it once, on one replica.
	Run(ctx context.Context) error
	// Stats tells about the Client's own health.
	Stats() Stats
}

// Stats is a moment of a Client's health.
type Stats struct {
	GatewayConnected bool
	GatewayError     string // why the Gateway is not connected; empty while it is, and before the first try
	TokenRefused     bool
	GlobalRemaining  int // calls that could be made in this second
	// Unauthorized, Forbidden and TooMany are the refusals of the last ten minutes; Discord bans at 10,000.
	Unauthorized, Forbidden, TooMany int
	Guilds                           int           // views in memory
	OldestView                       time.Duration // how long ago the most outdated wanted view was known true
}

// client joins calls and views.
type client struct {
	REST
	opts      Options
	transport *transport
	hub       *hub
	poller    *poller
}

var _ Client = (*client)(nil)

// New makes a Client. It does no I/O.
func New(o Options) (Client, error) {
	o, base, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &transport{
		base: base, token: o.Token, agent: o.UserAgent, inner: o.Transport, invalid: o.Invalid,
		limiter: ratelimit.New(o.GlobalPerSecond, o.Now),
	}
	t.died, t.die = context.WithCancel(context.Background())
	var api REST = newREST(&o, t)
	if o.Metrics != nil {
		api = Instrument(api, o.Metrics)
	}
	c := &client{REST: api, opts: o, transport: t, hub: newHub(&o)}
	c.poller = newPoller(c)
	if o.Metrics != nil {
		o.Metrics.watch(c)
	}
	return c, nil
}

// Guild implements Client.
func (c *client) Guild(guildID string) *View {
	v, added := c.hub.want(guildID)
	if added {
		c.poller.wake()
	}
	return v
}

// Forget implements Client.
func (c *client) Forget(guildID string) { c.hub.forget(guildID) }

// MayCreateChannel implements Client.
func (c *client) MayCreateChannel(guildID string) error {
	create := createChannel(guildID, "")
	create.major = guildID
	if err := c.transport.admit(&create); err != nil {
		return err
	}
	if wait := c.transport.limiter.Peek(create.limited()); wait != nil {
		return &RateLimited{Op: create.op, After: wait.After, Scope: wait.Scope, Local: true}
	}
	return nil
}

// Subscribe implements Client.
func (c *client) Subscribe(ctx context.Context) <-chan Event { return c.hub.subscribe(ctx) }

// Stats implements Client.
func (c *client) Stats() Stats {
	s := c.hub.stats()
	s.TokenRefused = c.transport.refused.Load() != nil
	s.GlobalRemaining = c.transport.limiter.Remaining()
	s.Unauthorized, s.Forbidden, s.TooMany = c.opts.Invalid.Counts()
	return s
}
