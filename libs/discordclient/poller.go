package discordclient

import (
	"context"
	"errors"
	"time"

	"jutsu.com/operators/libs/discordclient/gateway"
)

// poller reads guilds by REST that the Gateway does not keep true: one GET of the guild and one of its channels per
// period and guild, however many objects are managed in it.
type poller struct {
	client *client
	woken  chan struct{}
}

func newPoller(c *client) *poller {
	p := &poller{client: c, woken: make(chan struct{}, 1)}
	c.hub.onDirty = p.wake
	return p
}

// wake has the poller look at once for what is due. It does not block.
func (p *poller) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// run polls what is due until the context ends.
func (p *poller) run(ctx context.Context) {
	for ctx.Err() == nil {
		id, wait := p.client.hub.due(time.Now())
		if id != "" {
			p.poll(ctx, id)
			continue
		}
		if wait < 0 {
			wait = time.Hour // nothing is due: only a wake-up ends this
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

// poll reads one guild; a failure is tried again when Discord says, or after a pause that grows.
func (p *poller) poll(ctx context.Context, guildID string) {
	err := p.client.Refresh(ctx, guildID)
	if limited, ok := errors.AsType[*RateLimited](err); ok {
		p.client.hub.postpone(guildID, limited.After)
	} else if err != nil {
		p.client.hub.failed(guildID)
		if ctx.Err() == nil {
			p.client.opts.Log.Warn("reading the Discord guild failed", "guild", guildID, "error", err)
		}
	}
}

// Refresh implements Client. An unknown guild is believed only when Discord itself refuses its channels too: a refusal
// by something on the way to it proves nothing.
func (c *client) Refresh(ctx context.Context, guildID string) error {
	since := time.Now()
	_, err := c.GetGuild(ctx, guildID)
	unknown := CodeOf(err) == CodeUnknownGuild
	if err != nil && !unknown {
		return err
	}
	if _, listErr := c.ListChannels(ctx, guildID); listErr != nil {
		if code := CodeOf(listErr); unknown && (code == CodeUnknownGuild || code == CodeMissingAccess) {
			c.hub.refreshed(guildID, PresenceAbsent, since)
			return err
		}
		return listErr
	}
	if unknown {
		return &Error{Class: ClassTransient, Op: "read guild", Message: "Discord reports the guild as unknown, but lists its channels"}
	}
	c.hub.refreshed(guildID, PresencePresent, since)
	return nil
}

// Run implements Client.
func (c *client) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(c.transport.dead(), func() { cancel(c.transport.refused.Load()) })
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.runGateway(ctx)
	}()
	c.poller.run(ctx)
	<-done
	if refused := c.transport.refused.Load(); refused != nil { // also when the context ended at the same time
		return refused
	}
	return nil
}

// runGateway keeps the Gateway connected. When it is closed for good, the views go on being polled; when it is closed
// because of the token, everything stops.
func (c *client) runGateway(ctx context.Context) {
	if c.opts.DisableGateway {
		return
	}
	err := gateway.Run(ctx, gateway.Config{
		HTTP: c.transport.plainClient(), Token: c.opts.Token.Reveal, Intents: intents, Agent: c.opts.UserAgent,
		Lookup: c.lookupGateway, Handler: c.hub, Timing: c.opts.Gateway,
	})
	fatal, ok := errors.AsType[*gateway.Fatal](err)
	if !ok {
		return
	}
	if fatal.Code == gateway.CloseBadToken {
		c.transport.refuse(&Error{Class: ClassBadToken, Op: "connect to the Gateway", Message: fatal.Error()})
		return
	}
	c.opts.Log.Error("the Discord Gateway stays disconnected; polling instead", "reason", clean(fatal.Error(), c.opts.Token))
}

// lookupGateway asks where the Gateway is and what it may cost to connect.
func (c *client) lookupGateway(ctx context.Context) (gateway.Start, error) {
	start, err := c.GatewayStart(ctx)
	if limited, ok := errors.AsType[*RateLimited](err); ok {
		return gateway.Start{}, &gateway.RetryAfter{Err: err, After: limited.After}
	}
	if ClassOf(err) == ClassBadToken {
		return gateway.Start{}, &gateway.Fatal{Reason: err.Error()}
	}
	if err != nil {
		return gateway.Start{}, err
	}
	address, err := c.opts.gatewayAddress(c.transport.base, start.URL)
	if err != nil {
		return gateway.Start{}, err
	}
	if start.Total == 0 {
		start.Remaining = 1000 // a server that does not count them
	}
	return gateway.Start{URL: address, Remaining: start.Remaining, ResetAfter: start.ResetAfter}, nil
}
