// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// call is one request, and what the transport must know of it besides.
type call struct {
	op     string // "create channel"
	method string
	route  string           // path template, as in Discord's documentation; limits and metrics are kept by it
	url    string           // discordgo's endpoint
	major  string           // major parameter of the rate limit
	hidden string           // kind of change under a hidden rate limit
	reason string           // for the audit log
	body   []byte           // what is sent
	under  any              // circumstances, see [Options]
	count  *InvalidRequests // of refusals
}

// mutating reports whether the call may have an effect.
func (c *call) mutating() bool { return c.method != http.MethodGet }

// get is a call that reads.
func get(op, route, url string) call {
	return call{op: op, method: http.MethodGet, route: route, url: url}
}

// write is a call that changes something.
func write(method, op, route, url, reason string) call {
	return call{op: op, method: method, route: route, url: url, reason: reason}
}

// unreadable is the error of a success that does not say what came of the call.
func (c *call) unreadable(why string) error {
	class := ClassTransient
	if c.mutating() {
		class = ClassUnknown // it was carried out, but what came of it is not known
	}
	return &Error{Class: class, Op: c.op, Status: http.StatusOK, Message: "a response that cannot be read: " + why}
}

// unsent is the error of a call that is wrong in itself.
func unsent(op, format string, args ...any) error {
	return &Error{Class: ClassInvalid, Op: op, Message: fmt.Sprintf(format, args...), unsent: true}
}

var snowflake = regexp.MustCompile(`^[0-9]{1,20}$`)

// do makes one call and counts it: in is sent as JSON unless nil, the response is read into out
// unless nil. ids are what was put into the URL; anything but digits in one of them would be
// another URL than the one meant.
func (c *Client) do(ctx context.Context, cl call, in, out any, ids ...string) error {
	start := time.Now()
	if cl.major == "" && len(ids) > 0 {
		cl.major = ids[0]
	}
	cl.count = c.refusalsOf(ctx)
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	err := c.roundTrip(ctx, &cl, in, out, ids)
	c.opts.Metrics.observe(&cl, err, time.Since(start))
	return err
}

func (c *Client) roundTrip(ctx context.Context, cl *call, in, out any, ids []string) error {
	for _, id := range ids {
		if !snowflake.MatchString(id) {
			return unsent(cl.op, "a text of %d bytes is not a Discord id, which is 1 to 20 digits", len(id))
		}
	}
	req, err := c.request(ctx, cl, in)
	if err != nil {
		return unsent(cl.op, "%s", clean(err.Error(), c.opts.Token))
	}
	body, err := c.send(req, cl)
	if err != nil || out == nil {
		return err
	}
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) { // encoding/json leaves out as it was: an empty list
		return cl.unreadable("null")
	}
	if err := json.Unmarshal(body, out); err != nil {
		return cl.unreadable(clean(err.Error(), c.opts.Token))
	}
	return nil
}

// result makes a call and returns what it is answered with. A channel, guild, role or webhook must
// have its id.
func result[T any](ctx context.Context, c *Client, cl call, in any, ids ...string) (out T, err error) {
	var none T
	if err := c.do(ctx, cl, in, &out, ids...); err != nil {
		return none, err
	}
	if o, ok := any(out).(interface{ id() string }); ok && o.id() == "" {
		return none, cl.unreadable("an object without an id")
	}
	return out, nil
}

func (c *Channel) id() string { return c.ID }
func (g Guild) id() string    { return g.ID }
func (r Role) id() string     { return r.ID }
func (w Webhook) id() string  { return w.ID }

// request makes the HTTP request of a call. discordgo's endpoints begin with Discord's host and API
// v9; only what follows that is used, so that the host cannot be anything but the configured one.
func (c *Client) request(ctx context.Context, cl *call, in any) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		cl.body, body = raw, bytes.NewReader(raw)
	}
	target := *c.base
	path, query, _ := strings.Cut(strings.TrimPrefix(cl.url, discordgo.EndpointAPI), "?")
	target.Path, target.RawQuery = target.Path+"/"+path, query
	req, err := http.NewRequestWithContext(ctx, cl.method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if cl.mutating() {
		req.GetBody = nil // or net/http would send it again, with pauses, when the peer resets its HTTP/2 stream
	}
	req.Header.Set("User-Agent", c.opts.UserAgent)
	req.Header.Set("Authorization", "Bot "+c.opts.Token.Reveal())
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if cl.reason != "" {
		req.Header.Set("X-Audit-Log-Reason", encodeReason(CutReason(cl.reason)))
	}
	return req, nil
}

// send sends a request unless it is known that it would be refused, and returns the body of a
// success. Its errors are *Error and *RateLimited.
func (c *Client) send(req *http.Request, cl *call) ([]byte, error) {
	if err := c.admit(cl); err != nil {
		return nil, err
	}
	ticket, wait := c.limiter.Reserve(c.limited(req.Context(), cl))
	if wait != nil {
		return nil, &RateLimited{Op: cl.op, After: wait.After, Scope: wait.Scope, Local: true}
	}
	body, err := c.ask(req, cl, ticket)
	c.outage.record(err)
	c.denials.record(cl, err)
	return body, err
}

// ask sends a request and gives its ticket back.
func (c *Client) ask(req *http.Request, cl *call, ticket ratelimit.Ticket) ([]byte, error) {
	resp, err := c.exchange(req, cl)
	if resp == nil {
		c.limiter.Done(ticket, nil)
		return nil, err
	}
	answer := ratelimit.ParseHeader(resp.header)
	answer.Foreign = err != nil || resp.cut || !resp.ofDiscord()
	if resp.status == http.StatusTooManyRequests {
		answer.Refused = refusal(resp.header, resp.body)
	}
	c.limiter.Done(ticket, &answer)
	if err != nil {
		return nil, err
	}
	return resp.body, c.judge(cl, resp, answer.Refused)
}

// admit refuses calls that must not reach Discord at all.
func (c *Client) admit(cl *call) error {
	if c.Err() != nil {
		return &Error{Class: ClassBadToken, Op: cl.op, Message: "the bot token was refused before; replace it", unsent: true}
	}
	if wait := cl.count.wait(); wait > 0 {
		return &RateLimited{Op: cl.op, After: wait, Scope: ratelimit.ScopeBlocked, Local: true, Refusals: true}
	}
	if err := c.denials.admit(cl); err != nil {
		return err
	}
	return c.outage.admit(cl)
}

// maxReason is the length that Discord accepts for an encoded reason; a longer one fails the call.
const maxReason = 512

// encodeReason makes a header value of a reason. A plus is encoded too: some decoders take it for a
// space.
func encodeReason(reason string) string {
	return strings.ReplaceAll(url.PathEscape(reason), "+", "%2B")
}

// CutReason cuts an audit log reason to what Discord accepts, at a whole character: the reason that
// the log will have.
func CutReason(reason string) string {
	length := 0
	for i, r := range reason {
		if length += len(encodeReason(string(r))); length > maxReason {
			return reason[:i]
		}
	}
	return reason
}
