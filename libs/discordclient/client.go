// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// Client makes the calls of one bot. Each method makes one request (but for
// [Client.ListMemberships], which reads page after page), never waits and never repeats anything.
// Errors are *[Error] and *[RateLimited]; [ClassOf] says what to do about them.
//
// reason goes into the guild's audit log; it is cut to 512 encoded characters; empty for none.
type Client struct {
	opts        Options
	base        *url.URL
	webhookBase string // what webhook URLs start with: the API's address without its version
	inner       http.RoundTripper
	limiter     *ratelimit.Limiter
	outage      *outage
	denials     *denials
	refusals    *InvalidRequests // of this bot alone
	usable      context.Context  //nolint:containedctx // ends, with the cause, once the token was refused
	refuse      context.CancelCauseFunc
}

// New makes a Client. It does no I/O.
func New(o Options) (*Client, error) {
	o, base, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	usable, refuse := context.WithCancelCause(context.Background())
	return &Client{
		opts: o, base: base, webhookBase: strings.TrimSuffix(base.String(), "/"+apiVersion), inner: o.Transport,
		limiter: ratelimit.New(o.GlobalPerSecond, o.Now), outage: &outage{now: o.Now},
		denials: &denials{circumstances: o.Circumstances, now: o.Now, calls: map[[sha256.Size]byte]denial{}},
		usable:  usable, refuse: refuse, refusals: o.Invalid.Share(1),
	}, nil
}

// WebURL is where users see what the API serves: its address before /api/v10, such as
// "https://discord.com".
func (c *Client) WebURL() string { return strings.TrimSuffix(c.webhookBase, "/api") }

// Options returns what the Client was made with, defaults filled in.
func (c *Client) Options() Options { return c.opts }

// Stats is a moment of a Client's health.
type Stats struct {
	TokenRefused    bool
	GlobalRemaining int // calls that could be made in this second
	// Unauthorized, Forbidden and TooMany are the refusals of the last ten minutes; Discord bans at
	// 10,000.
	Unauthorized, Forbidden, TooMany int
}

// Stats returns the Client's health.
func (c *Client) Stats() Stats {
	s := Stats{TokenRefused: c.Err() != nil, GlobalRemaining: c.limiter.Remaining()}
	s.Unauthorized, s.Forbidden, s.TooMany = c.opts.Invalid.Whole().Counts()
	return s
}

// Done is closed when the token is refused; [Client.Err] then says why, and no further request is
// made with it.
func (c *Client) Done() <-chan struct{} { return c.usable.Done() }

// Err returns an *[Error] of ClassBadToken once the token was refused, nil before.
func (c *Client) Err() error { return context.Cause(c.usable) }

// RefuseToken records that Discord refuses the token elsewhere: the Gateway closes a connection for
// that reason.
func (c *Client) RefuseToken(op, why string) {
	c.refuse(&Error{Class: ClassBadToken, Op: op, Message: why})
}

// MayCreateChannel returns, as an error of CreateChannel, what such a call would be refused for now
// without asking Discord: a *[RateLimited], or a refused token. Nil promises nothing. Ask it before
// recording an intent that a crash would leave open.
func (c *Client) MayCreateChannel(ctx context.Context, guildID string) error {
	return c.mayCreate(ctx, createChannel(guildID, ""), guildID)
}

// MayCreateRole is MayCreateChannel for a role.
func (c *Client) MayCreateRole(ctx context.Context, guildID string) error {
	return c.mayCreate(ctx, createRole(guildID, ""), guildID)
}

func (c *Client) mayCreate(ctx context.Context, create call, guildID string) error {
	create.major, create.count = guildID, c.refusalsOf(ctx)
	if err := c.admit(&create); err != nil {
		return err
	}
	if wait := c.limiter.Peek(c.limited(ctx, &create)); wait != nil {
		return &RateLimited{Op: create.op, After: wait.After, Scope: wait.Scope, Local: true}
	}
	return nil
}
