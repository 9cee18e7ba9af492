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
	// GatewayURL defaults to the address in the API's response, which must be at the API's host or,
	// for discord.com, at gateway.discord.gg.
	GatewayURL string
	// DisableGateway polls guilds by REST without the Gateway.
	DisableGateway bool
	// Resync is the period of polling a guild without the Gateway. Default 5 min.
	Resync time.Duration
	// ResyncLive is the approximate period of REST reads besides Gateway events. Default 1 h.
	ResyncLive time.Duration
	// EventTimeout is the longest wait for an event of the guild after an own write. If no event
	// comes, the guild is polled every Resync until one comes. Default 15 s.
	EventTimeout time.Duration
	// Keep reports whether to cache a guild before [Client.Guild] requests it. It must not block.
	// Default: no.
	Keep func(guildID string) bool
	// Grace is a new view's wait for the Gateway before it is polled by REST. Default 5 s.
	Grace   time.Duration
	Metrics *Metrics
	// Namespace is the value of the label "namespace" of this bot's gauges.
	Namespace string
	// Log gets connection changes, bad events and failed reads, never a secret. Default: discarded.
	Log *slog.Logger
	// Gateway has shorter times for tests. The zero value suits Discord.
	Gateway gateway.Timing
}

func (o Options) withDefaults() (Options, error) {
	if o.GatewayURL != "" && !isWebsocket(o.GatewayURL) {
		return o, errors.New("the Gateway's address does not have the form of wss://gateway.discord.gg")
	}
	o.Resync, o.Grace = cmp.Or(o.Resync, 5*time.Minute), cmp.Or(o.Grace, 5*time.Second)
	o.ResyncLive, o.EventTimeout = cmp.Or(o.ResyncLive, time.Hour), cmp.Or(o.EventTimeout, 15*time.Second)
	if o.Keep == nil {
		o.Keep = func(string) bool { return false }
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

func isWebsocket(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && (u.Scheme == "wss" || u.Scheme == "ws")
}

// gatewayAddress returns the Gateway's address. It refuses (*gateway.Fatal) a host that the default
// of GatewayURL excludes: a user must set GatewayURL.
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
			"the API at %s names a Gateway at another host, %.100s, to which the bot does not connect; "+
				"guilds are polled instead",
			base.Host, discordclient.Sanitize(u.Host, o.Token))}
	}
	return u.String(), nil
}

// Client makes the calls of a bot and updates the views of its guilds with the responses.
type Client struct {
	*discordclient.Client
	opts          Options
	store         *store.Store
	poller        *poller
	creates       sync.Map // createsKey to *createsRead
	members       membersRead
	tooManyGuilds atomic.Bool
}

// New makes a Client without any I/O.
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
		ResyncLive: o.ResyncLive, EventTimeout: o.EventTimeout, Keep: o.Keep,
	})
	o.Metrics.watch(c)
	return c, nil
}

// Guild returns the view of a guild, which [Client.Run] keeps up to date.
func (c *Client) Guild(guildID string) *View {
	v, added := c.store.Want(guildID)
	if added {
		c.poller.wake()
	}
	return v
}

// Forget drops the view of a guild and all other cached state of the guild.
func (c *Client) Forget(guildID string) {
	c.store.Forget(guildID)
	c.members.forget(guildID)
	for _, action := range []discordgo.AuditLogAction{
		discordgo.AuditLogActionChannelCreate, discordgo.AuditLogActionRoleCreate,
	} {
		c.creates.Delete(createsKey{guildID, action})
	}
}

// Subscribe returns a channel of events, which is closed once the context ends. An event that
// equals an unread event is dropped.
func (c *Client) Subscribe(ctx context.Context) <-chan Event { return c.store.Events().Subscribe(ctx) }

// Stats describes a Client's health.
type Stats struct {
	discordclient.Stats
	store.Health
	// TooManyGuilds is true if the bot is in too many guilds for one Gateway session. The Client
	// then polls the guilds that [Client.Guild] was called for.
	TooManyGuilds bool
}

// Stats returns the Client's health.
func (c *Client) Stats() Stats {
	health := c.store.Health()
	return Stats{c.Client.Stats(), health, c.tooManyGuilds.Load() && !health.GatewayConnected}
}
