// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/gateway"
)

type poller struct {
	client *Client
	woken  chan struct{}
}

func (p *poller) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// maxPolls is the largest number of polls at the same time. It is more than 1, so that one hanging
// call does not block other guilds.
const maxPolls = 8

func (p *poller) run(ctx context.Context) {
	var polls errgroup.Group
	polls.SetLimit(maxPolls)
	defer func() { _ = polls.Wait() }()
	for ctx.Err() == nil {
		id, wait := p.client.store.Due(time.Now())
		if id != "" {
			p.client.store.Polling(id, true)
			polls.Go(func() error {
				defer p.client.store.Polling(id, false)
				p.poll(ctx, id)
				return nil
			})
			continue
		}
		if wait < 0 {
			wait = time.Hour // no guild is due, so wait for a wake-up
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-p.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (p *poller) poll(ctx context.Context, guildID string) {
	err := p.client.Refresh(ctx, guildID)
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		p.client.store.Postpone(guildID, limited.After)
	} else if err != nil {
		p.client.store.PollFailed(guildID)
		if ctx.Err() == nil {
			p.client.opts.Log.Warn("reading the Discord guild failed", "guild", guildID, "error", err)
		}
	}
}

// Refresh reads a guild, its channels and its roles into its view. The guild is absent only if
// Discord, not a proxy, calls it unknown and also refuses to list its channels.
func (c *Client) Refresh(ctx context.Context, guildID string) error {
	since := time.Now()
	guild, err := c.GetGuild(ctx, guildID)
	if err == nil && guild.Roles == nil {
		_, err = c.ListRoles(ctx, guildID)
	}
	unknown := discordclient.CodeOf(err) == discordgo.ErrCodeUnknownGuild
	if err != nil && !unknown {
		return err
	}
	if _, listErr := c.ListChannels(ctx, guildID); listErr != nil {
		code := discordclient.CodeOf(listErr)
		if unknown && (code == discordgo.ErrCodeUnknownGuild || code == discordgo.ErrCodeMissingAccess) {
			c.store.Refreshed(guildID, PresenceAbsent, since)
			return err
		}
		return listErr
	}
	if unknown {
		return &discordclient.Error{
			Class: discordclient.ClassTransient, Op: "read guild",
			Message: "Discord reports the guild as unknown, but lists its channels",
		}
	}
	c.store.Refreshed(guildID, PresencePresent, since)
	return nil
}

// Run keeps the views up to date until the context ends (nil) or the token is refused (an error of
// ClassBadToken). Call it once, on one replica.
func (c *Client) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connected := make(chan struct{})
	go func() {
		defer close(connected)
		c.runGateway(ctx)
	}()
	go func() {
		select {
		case <-c.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	c.poller.run(ctx)
	<-connected
	return c.Err() // report a refused token even if the context ended at the same time
}

// intents are the Gateway intents of the Client. None of them is privileged:
// https://discord.com/developers/docs/events/gateway#gateway-intents.
const intents = int(discordgo.IntentGuilds | discordgo.IntentGuildWebhooks)

// runGateway keeps a connection to the Gateway until the context ends or the token is refused.
// After any other fatal error, it waits for [gateway.Timing].Closed before it connects again. It
// does nothing if [Options].DisableGateway is set.
func (c *Client) runGateway(ctx context.Context) {
	handshake := &http.Client{
		Transport:     c.opts.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for ctx.Err() == nil && !c.opts.DisableGateway {
		err := gateway.Run(ctx, gateway.Config{
			HTTP: handshake, Token: c.opts.Token.Reveal, Intents: intents, Agent: c.opts.UserAgent,
			Lookup: c.lookupGateway, Handler: c.store, Timing: c.opts.Gateway,
		})
		fatal, ok := errors.AsType[*gateway.Fatal](err)
		if !ok {
			return
		}
		if fatal.Code == gateway.CloseBadToken {
			c.RefuseToken("connect to the Gateway", fatal.Error())
			return
		}
		c.tooManyGuilds.Store(fatal.Code == gateway.CloseTooManyGuilds)
		c.opts.Log.Error("the Discord Gateway stays disconnected for now; polling the guilds instead",
			"reason", discordclient.Sanitize(fatal.Error(), c.opts.Token))
		select {
		case <-ctx.Done():
		case <-time.After(cmp.Or(c.opts.Gateway.Closed, time.Hour)):
		}
	}
}

func (c *Client) lookupGateway(ctx context.Context) (gateway.Start, error) {
	start, err := c.GatewayStart(ctx)
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		return gateway.Start{}, &gateway.RetryAfter{Err: err, After: limited.After}
	}
	if discordclient.ClassOf(err) == discordclient.ClassBadToken {
		return gateway.Start{}, &gateway.Fatal{Reason: err.Error()}
	}
	if err != nil {
		return gateway.Start{}, err
	}
	address, err := c.opts.gatewayAddress(start.URL)
	if err != nil {
		return gateway.Start{}, err
	}
	limit := start.SessionStartLimit
	if limit.Total == 0 {
		limit.Remaining = 1000 // a Discord-compatible server without a limit of sessions
	}
	return gateway.Start{
		URL: address, Remaining: limit.Remaining, ResetAfter: time.Duration(limit.ResetAfter) * time.Millisecond,
	}, nil
}
