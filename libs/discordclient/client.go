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

// Client makes the calls of one bot. A call is one request and fails with an *[Error] or a
// *[RateLimited]. The audit log shows its reason, cut to 512 encoded characters.
type Client struct {
	opts        Options
	base        *url.URL
	webhookBase string // prefix of webhook URLs: the API's address without its version
	inner       http.RoundTripper
	limiter     *ratelimit.Limiter
	outage      *outage
	denials     *denials
	refusals    *InvalidRequests // counts this bot's refused calls, as a share of Options.Invalid
	usable      context.Context  //nolint:containedctx // ends, with the cause, once the token was refused
	refuse      context.CancelCauseFunc
}

// New makes a Client without any I/O.
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

// WebURL returns the address of the website, such as "https://discord.com".
func (c *Client) WebURL() string { return strings.TrimSuffix(c.webhookBase, "/api") }

// Options returns the options of the Client with all defaults filled in.
func (c *Client) Options() Options { return c.opts }

// Stats describes a Client's health.
type Stats struct {
	TokenRefused    bool
	GlobalRemaining int // calls that GlobalPerSecond still allows in this second
	// Unauthorized, Forbidden and TooMany are the numbers of responses with status 401, 403 and 429
	// in the last ten minutes, summed over all Clients that share Options.Invalid.
	Unauthorized, Forbidden, TooMany int
}

// Stats returns the Client's health.
func (c *Client) Stats() Stats {
	s := Stats{TokenRefused: c.Err() != nil, GlobalRemaining: c.limiter.Remaining()}
	s.Unauthorized, s.Forbidden, s.TooMany = c.opts.Invalid.Whole().Counts()
	return s
}

// Done returns a channel that is closed once the token is refused. [Client.Err] then returns the
// reason.
func (c *Client) Done() <-chan struct{} { return c.usable.Done() }

// Err returns an *[Error] of ClassBadToken once the token is refused, otherwise nil.
func (c *Client) Err() error { return context.Cause(c.usable) }

// RefuseToken records that the Gateway refused the token. All further calls fail.
func (c *Client) RefuseToken(op, why string) {
	c.refuse(&Error{Class: ClassBadToken, Op: op, Message: why})
}

// MayCreateChannel returns an error if a refused token, a rate limit or an outage would keep
// CreateChannel from sending its request. Call it before you persist the intent to create.
func (c *Client) MayCreateChannel(ctx context.Context, guildID string) error {
	return c.mayCreate(ctx, createChannel(guildID, ""), guildID)
}

// MayCreateRole is [Client.MayCreateChannel] for CreateRole.
func (c *Client) MayCreateRole(ctx context.Context, guildID string) error {
	return c.mayCreate(ctx, createRole(guildID, ""), guildID)
}

func (c *Client) mayCreate(ctx context.Context, create call, guildID string) error {
	create.major, create.count = guildID, c.refusalsOf(ctx)
	if err := c.refusal(&create); err != nil {
		return err
	}
	if err := c.outage.peek(&create); err != nil {
		return err
	}
	if wait := c.limiter.Peek(c.limited(ctx, &create)); wait != nil {
		return &RateLimited{Op: create.op, After: wait.After, Scope: wait.Scope, Local: true}
	}
	return nil
}
