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

type call struct {
	op            string // such as "create channel"
	method        string
	route         string // path template of Discord's documentation; key of rate limits and metrics
	url           string // discordgo's endpoint
	major         string // major parameter of the rate limit
	hidden        string // key of a rate limit that no header announces; empty for none
	reason        string // for the audit log
	body          []byte
	circumstances any              // see [Options.Circumstances]
	count         *InvalidRequests // where a refusal of this call counts
}

func (c *call) mutating() bool { return c.method != http.MethodGet }

func get(op, route, url string) call {
	return call{op: op, method: http.MethodGet, route: route, url: url}
}

func write(method, op, route, url, reason string) call {
	return call{op: op, method: method, route: route, url: url, reason: reason}
}

func (c *call) unreadable(why string) error {
	class := ClassTransient
	if c.mutating() {
		class = ClassUnknown // Discord has executed the call, but its result is unknown
	}
	return &Error{Class: class, Op: c.op, Status: http.StatusOK, Message: "a response that cannot be read: " + why}
}

func unsent(op, format string, args ...any) error {
	return &Error{Class: ClassInvalid, Op: op, Message: fmt.Sprintf(format, args...), unsent: true}
}

var snowflake = regexp.MustCompile(`^[0-9]{1,20}$`)

// do makes a call. The ids must be digits, because other characters would change the URL.
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
	// json.Unmarshal reads null as an empty value, which the caller would take for an empty list.
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return cl.unreadable("null")
	}
	if err := json.Unmarshal(body, out); err != nil {
		return cl.unreadable(clean(err.Error(), c.opts.Token))
	}
	return nil
}

func result[T any](ctx context.Context, c *Client, cl call, in any, ids ...string) (out T, err error) {
	var zero T
	if err := c.do(ctx, cl, in, &out, ids...); err != nil {
		return zero, err
	}
	if o, ok := any(out).(interface{ id() string }); ok && o.id() == "" {
		return zero, cl.unreadable("an object without an id")
	}
	return out, nil
}

func (c *Channel) id() string { return c.ID }
func (g Guild) id() string    { return g.ID }
func (r Role) id() string     { return r.ID }
func (w Webhook) id() string  { return w.ID }

// request makes the HTTP request of a call. Scheme, host and API version come from
// [Options].APIURL.
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
		req.GetBody = nil // otherwise net/http repeats the request, with pauses, when the peer resets the HTTP/2 stream
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

func (c *Client) send(req *http.Request, cl *call) ([]byte, error) {
	if err := req.Context().Err(); err != nil { // the caller's time is over, which shows nothing about Discord
		return nil, &Error{Class: ClassTransient, Op: cl.op, Message: err.Error(), cause: err, unsent: true}
	}
	if err := c.admit(cl); err != nil {
		return nil, err
	}
	ticket, wait := c.limiter.Reserve(c.limited(req.Context(), cl))
	if wait != nil {
		c.outage.withdraw(cl)
		return nil, &RateLimited{Op: cl.op, After: wait.After, Scope: wait.Scope, Local: true}
	}
	body, err := c.ask(req, cl, ticket)
	c.outage.record(err)
	c.denials.record(cl, err)
	return body, err
}

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
	refused := answer.Refused
	if resp.blocked() { // the limiter must not delay other calls, which Cloudflare may let pass
		refused = &ratelimit.Refusal{Scope: ratelimit.ScopeBlocked, After: blockedPause}
	}
	return resp.body, c.judge(cl, resp, refused)
}

func (c *Client) admit(cl *call) error {
	if err := c.refusal(cl); err != nil {
		return err
	}
	if err := c.denials.admit(cl); err != nil {
		return err
	}
	return c.outage.admit(cl)
}

// refusal returns an error if the token is refused or the call's count of refusals is used up.
func (c *Client) refusal(cl *call) error {
	if c.Err() != nil {
		return &Error{Class: ClassBadToken, Op: cl.op, Message: "the bot token was refused before; replace it", unsent: true}
	}
	if wait := cl.count.wait(); wait > 0 {
		return &RateLimited{Op: cl.op, After: wait, Scope: ratelimit.ScopeBlocked, Local: true, Refusals: true}
	}
	return nil
}

const maxReason = 512

// encodeReason also escapes "+", because some decoders read "+" as a space.
func encodeReason(reason string) string {
	return strings.ReplaceAll(url.PathEscape(reason), "+", "%2B")
}

// CutReason cuts an audit log reason at a whole character to the length that Discord accepts.
func CutReason(reason string) string {
	length := 0
	for i, r := range reason {
		if length += len(encodeReason(string(r))); length > maxReason {
			return reason[:i]
		}
	}
	return reason
}
