// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/gateway"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/store"
)

// Options configure a [Client]. Only Token is required.
type Options struct {
	discordclient.Options
	// GatewayURL is where the Gateway is. Empty: where the API says, provided that is the API's own
	// host (or, for Discord itself, gateway.discord.gg); any other answer is refused.
	GatewayURL string
	// DisableGateway makes the live view poll only.
	DisableGateway bool
	// Resync is the period of polling while the Gateway is not live. Default 5 min.
	Resync time.Duration
	// ResyncLive is about how often a guild is read that the Gateway follows, in case it lost an event.
	// Default 1 h.
	ResyncLive time.Duration
	// EventTimeout is how long after an own change its event may come. A guild of which none came is
	// read as often as without the Gateway, until one comes. Default 15 s.
	EventTimeout time.Duration
	// Named reports which guilds are about to be asked for: the state that the Gateway sends of all
	// others is dropped. It is called often and must not block. Default: none.
	Named func(guildID string) bool
	// Grace is how long a guild that was just asked for may wait for the Gateway before it is
	// polled. Default 5 s.
	Grace time.Duration
	// Metrics counts what this Client does, its calls included. Default: nothing is counted.
	Metrics *Metrics
	// Namespace is a label of the gauges about this bot, so that an alert names whose bot it is and one that
	// lasts hides none of another's.
	Namespace string
	// Log receives connects, disconnects and resyncs; never a secret. Default: discarded.
	Log *slog.Logger
	// Gateway holds the Gateway's times; tests shorten them. The zero value is Discord's.
	Gateway gateway.Timing
}

// withDefaults checks the options and fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	if o.GatewayURL != "" && !isWebsocket(o.GatewayURL) {
		return o, errors.New("the Gateway's address is not one such as wss://gateway.discord.gg")
	}
	o.Resync, o.Grace = cmp.Or(o.Resync, 5*time.Minute), cmp.Or(o.Grace, 5*time.Second)
	o.ResyncLive, o.EventTimeout = cmp.Or(o.ResyncLive, time.Hour), cmp.Or(o.EventTimeout, 15*time.Second)
	if o.Named == nil {
		o.Named = func(string) bool { return false }
	}
	if o.DisableGateway {
		o.Grace = 0
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	o.Options.Metrics = o.Metrics.calls
	return o, nil
}

// isWebsocket reports whether a text is the address of a websocket.
func isWebsocket(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && (u.Scheme == "wss" || u.Scheme == "ws")
}

// gatewayAddress checks where the API says that the Gateway is. Another host than the API's is a
// *gateway.Fatal: a user must allow it. An answer that names no address is an accident, to be
// asked for again.
func (o *Options) gatewayAddress(answered string) (string, error) {
	if o.GatewayURL != "" {
		return o.GatewayURL, nil
	}
	u, err := url.Parse(answered)
	if err != nil || !isWebsocket(answered) {
		return "", errors.New("the API names a Gateway address that is no websocket URL")
	}
	base, err := url.Parse(o.APIURL)
	if err != nil {
		return "", err
	}
	discord := base.Hostname() == "discord.com" && u.Scheme == "wss" && u.Host == "gateway.discord.gg"
	same := u.Hostname() == base.Hostname() && (u.Scheme == "wss" || base.Scheme == "http")
	if !discord && !same {
		return "", &gateway.Fatal{Reason: fmt.Sprintf(
			"the API at %s names a Gateway at another host, %.100s, which only Options.GatewayURL can allow; "+
				"guilds are polled instead",
			base.Host, discordclient.Sanitize(u.Host, o.Token))}
	}
	return u.String(), nil
}

// Client makes the calls of a bot and keeps a live view of its guilds, which the calls keep up to
// date.
type Client struct {
	*discordclient.Client
	opts    Options
	store   *store.Store
	poller  *poller
	creates sync.Map // by createsKey: what was read of the audit log, *createsRead
	members membersRead
	// overfull says that the Gateway was closed last because of the number of the bot's guilds.
	overfull atomic.Bool
}

// New makes a Client. It does no I/O.
func New(o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{}
	o.Circumstances = func(id string) any { return c.store.Circumstances(id) }
	if c.Client, err = discordclient.New(o.Options); err != nil {
		return nil, err
	}
	o.Options = c.Options()
	c.opts = o
	c.poller = &poller{client: c, woken: make(chan struct{}, 1)}
	c.store = store.New(store.Config{
		Log: o.Log, Token: o.Token, Counters: o.Metrics.counters, Resync: o.Resync, Grace: o.Grace, Wake: c.poller.wake,
		ResyncLive: o.ResyncLive, EventTimeout: o.EventTimeout, Named: o.Named,
	})
	o.Metrics.watch(c)
	return c, nil
}

// Guild returns the live view of a guild and keeps it up to date from now on, as long as Run runs.
// Calling it again returns the same view.
func (c *Client) Guild(guildID string) *View {
	v, added := c.store.Want(guildID)
	if added {
		c.poller.wake()
	}
	return v
}

// Forget drops the view of a guild that is not managed any more.
func (c *Client) Forget(guildID string) {
	c.store.Forget(guildID)
	c.members.forget(guildID)
	for _, action := range []discordgo.AuditLogAction{
		discordgo.AuditLogActionChannelCreate, discordgo.AuditLogActionRoleCreate,
	} {
		c.creates.Delete(createsKey{guildID, action})
	}
}

// Subscribe returns a channel of what others changed on Discord. Events of the same object that
// were not taken yet are reported once. The channel is closed when the context ends.
func (c *Client) Subscribe(ctx context.Context) <-chan Event { return c.store.Events().Subscribe(ctx) }

// Stats is a moment of a Client's health.
type Stats struct {
	discordclient.Stats
	store.Health
	// TooManyGuilds says that the bot is in more guilds than a session of the Gateway may have, so that
	// they are polled.
	TooManyGuilds bool
}

// Stats returns the Client's health.
func (c *Client) Stats() Stats {
	health := c.store.Health()
	return Stats{c.Client.Stats(), health, c.overfull.Load() && !health.GatewayConnected}
}
