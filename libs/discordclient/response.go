// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"sync/atomic"
	"time"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// maxResponse is in bytes. A list of 500 channels with 100 overwrites each has about 6 MB.
const maxResponse = 64 << 20

// blockedPause applies to [codeBlocked] and to a 429 without a time, such as Cloudflare's page.
const blockedPause = time.Minute

// maxConnections limits the tries of a call. Otherwise net/http may repeat a request without a body
// endlessly, and sleeps before the third try if an HTTP/2 server resets the stream.
const maxConnections = 2

var errAgain = errors.New("the connection failed twice")

type response struct {
	status int
	header http.Header
	body   []byte
	cut    bool
}

func (c *Client) exchange(req *http.Request, cl *call) (*response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, c.broken(cl, err, false)
	}
	ctx, cancel, err := c.guarded(req.Context(), cl)
	if err != nil {
		return nil, err
	}
	defer cancel()
	var asked atomic.Int32
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{
		GetConn: func(string) {
			if asked.Add(1) > maxConnections {
				cancel()
			}
		},
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}
	resp, err := c.inner.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil && asked.Load() > maxConnections {
		err = errAgain
	}
	if sent := connected.Load() || asked.Load() == 0; err != nil {
		// A new token may have cancelled this call. Discord may have refused the old token, so
		// count a 401.
		if sent && errors.Is(err, context.Canceled) {
			cl.count.add(http.StatusUnauthorized)
		}
		return nil, c.broken(cl, err, sent)
	}
	defer func() { _ = resp.Body.Close() }()
	got := &response{status: resp.StatusCode, header: resp.Header}
	got.body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err == nil && len(got.body) > maxResponse {
		err = fmt.Errorf("a response of more than %d bytes", maxResponse)
	}
	if err != nil && (got.status < 300 || got.status >= 500) {
		e := c.broken(cl, err, true)
		e.Status = got.status
		return got, e
	}
	got.cut = err != nil // the status and a partial body suffice for a refusal
	return got, nil
}

func (c *Client) guarded(ctx context.Context, cl *call) (context.Context, context.CancelFunc, error) {
	if c.opts.Guard != nil && cl.mutating() {
		until, err := c.opts.Guard()
		if err != nil {
			return nil, nil, &Error{Class: ClassTransient, Op: cl.op, Message: err.Error(), unsent: true, cause: err}
		}
		if !until.IsZero() {
			ctx, cancel := context.WithDeadline(ctx, until)
			return ctx, cancel, nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	return ctx, cancel, nil
}

// broken makes the error of a failed call. If sent is false, the call certainly had no effect.
func (c *Client) broken(cl *call, err error, sent bool) *Error {
	class := ClassTransient
	if sent && cl.mutating() {
		class = ClassUnknown
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &Error{Class: class, Op: cl.op, Message: Sanitize(err.Error(), c.opts.Token), cause: contextCause(err)}
}

// addresses matches "tcp 10.1.2.3:40111->162.159.128.233:443: " in the text of an error.
var addresses = regexp.MustCompile(`\b((?:tcp|udp)[46]?) \S+:\d+: `)

// Sanitize makes an error's text safe for statuses and logs: one bounded line without secrets. It
// removes the addresses of connections, which would change a status at every retry.
func Sanitize(text string, secrets ...Secret) string {
	return clean(addresses.ReplaceAllString(text, "$1: "), secrets...)
}

func (r *response) ofDiscord() bool {
	if r.status < 300 {
		return true
	}
	_, _, _, ok := parseErrorBody(r.body)
	return ok && r.status < 500
}

// blocked reports whether Cloudflare refused the call, which says nothing about permissions.
func (r *response) blocked() bool {
	if r.status != http.StatusForbidden {
		return false
	}
	code, _, _, _ := parseErrorBody(r.body)
	return code == codeBlocked
}

func (c *Client) judge(cl *call, resp *response, refused *ratelimit.Refusal) error {
	status := resp.status
	if refused != nil {
		if refused.Scope != ratelimit.ScopeShared {
			cl.count.add(status)
		}
		return &RateLimited{Op: cl.op, After: refused.After, Scope: refused.Scope}
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		cl.count.add(status)
	}
	if status >= 200 && status < 300 {
		return nil
	}
	code, message, fields, ok := parseErrorBody(resp.body, c.opts.Token)
	e := &Error{Op: cl.op, Status: status, Code: code, Message: message, Fields: fields}
	if ok {
		e.Class = classify(status, code, fields, cl.mutating())
	} else {
		e.Message = http.StatusText(status) + " without an explanation by Discord"
		e.Class = classifyForeign(status, resp.cut, cl.mutating())
	}
	if e.Class == ClassBadToken {
		c.refuse(e)
	}
	return e
}

// refusal reads a 429. With neither JSON nor scope, it is from Cloudflare, which blocks all calls.
// A 429 by Discord without a scope is a limit of this bot.
func refusal(h http.Header, body []byte) *ratelimit.Refusal {
	var b errorBody
	err := json.Unmarshal(body, &b)
	r := &ratelimit.Refusal{Scope: h.Get("X-RateLimit-Scope")}
	r.After = max(ratelimit.Seconds(h.Get("Retry-After")), ratelimit.Seconds(fmt.Sprint(b.RetryAfter)))
	switch {
	case err != nil && r.Scope == "":
		r.Scope = ratelimit.ScopeBlocked
	case b.Global || h.Get("X-RateLimit-Global") != "":
		r.Scope = ratelimit.ScopeGlobal
	case r.Scope != ratelimit.ScopeShared && r.Scope != ratelimit.ScopeGlobal:
		r.Scope = ratelimit.ScopeUser
	}
	if r.After <= 0 {
		r.After = blockedPause
	}
	return r
}
