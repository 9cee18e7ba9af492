package discordclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// maxAnswer bounds an answer's body in bytes; a guild of 500 channels with 100 overwrites each is about 6 MB.
const maxAnswer = 64 << 20

// blockedPause is how long everything waits after a refusal that says nothing about time (Cloudflare's, in HTML).
const blockedPause = time.Minute

// call is what the transport must know of a request beyond the request. It travels in the request's context, because
// discordgo's plumbing lies in between.
type call struct {
	op     string // "create channel"
	method string
	route  string // path template, as in Discord's documentation; what metrics are labelled with
	url    string // discordgo's endpoint
	major  string // major parameter of the rate limit
	hidden string // kind of change under a hidden rate limit
	reason string // for the audit log
	urgent bool   // a create or a delete
	public bool   // without the bot's token: the URL holds its own
	secret Secret // that token
}

type callKey struct{}

// mutating reports whether the call may have an effect.
func (c *call) mutating() bool { return c.method != http.MethodGet }

// limited is what the limiter needs to know about the call.
func (c *call) limited() ratelimit.Call {
	return ratelimit.Call{Route: c.method + " " + c.route, Major: c.major, Urgent: c.urgent, Hidden: c.hidden, Exempt: c.public}
}

// transport is where everything that all requests have in common is done, once: one host, API v10, the token, rate
// limits, and answers turned into this package's errors. It lets nothing through to discordgo but success, so that none
// of discordgo's own handling of failures (sleeping, retrying a POST on 502) ever starts.
type transport struct {
	base    *url.URL
	token   Secret
	agent   string
	inner   http.RoundTripper
	limiter *ratelimit.Limiter
	invalid *InvalidRequests
	refused atomic.Pointer[Error] // set once the token was refused
	died    context.Context       //nolint:containedctx // the token's lifetime, not a call's: ends when it is refused
	die     context.CancelFunc
}

// refuse notes that the token is refused: no further call is made with it.
func (t *transport) refuse(why *Error) {
	t.refused.CompareAndSwap(nil, why)
	t.die()
}

// dead is a context that ends when the token is refused.
func (t *transport) dead() context.Context { return t.died }

// plainClient carries the Gateway's handshake over the same connections. It does not follow redirects.
func (t *transport) plainClient() *http.Client {
	return &http.Client{Transport: t.inner, CheckRedirect: refuseRedirect}
}

// RoundTrip implements http.RoundTripper. Its errors are *Error and *RateLimited alone.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, &Error{Class: ClassInvalid, Op: "call Discord", Message: "a request that this package did not make"}
	}
	if err := t.admit(c); err != nil {
		return nil, err
	}
	out, err := t.rewrite(req, c)
	if err != nil {
		return nil, err
	}
	ticket, wait := t.limiter.Reserve(c.limited())
	if wait != nil {
		return nil, &RateLimited{Op: c.op, After: wait.After, Scope: wait.Scope, Local: true}
	}
	resp, body, cut, err := t.exchange(out, c)
	if resp == nil {
		t.limiter.Done(ticket, nil)
		return nil, err
	}
	answer := ratelimit.ParseHeader(resp.Header)
	answer.Foreign = err != nil || cut || !ofDiscord(resp.StatusCode, body)
	if resp.StatusCode == http.StatusTooManyRequests {
		answer.Refused = refusal(resp.Header, body)
	}
	t.limiter.Done(ticket, &answer)
	if err != nil {
		return nil, err
	}
	if err := t.judge(c, resp, body, cut, answer.Refused); err != nil {
		return nil, err
	}
	return success(req, resp, body), nil
}

// ofDiscord reports whether an answer tells about Discord's routes: it was not made by a proxy on the way, nor by a server that has failed.
func ofDiscord(status int, body []byte) bool {
	if status < 300 {
		return true
	}
	_, _, _, ok := parseErrorBody(body)
	return ok && status < 500
}

// admit refuses calls that must not reach Discord at all.
func (t *transport) admit(c *call) error {
	if dead := t.refused.Load(); dead != nil && !c.public {
		return &Error{Class: ClassBadToken, Op: c.op, Message: "the bot token was refused before; replace it", unsent: true}
	}
	if wait := t.invalid.wait(); wait > 0 {
		return &RateLimited{Op: c.op, After: wait, Scope: ratelimit.ScopeBlocked, Local: true}
	}
	return nil
}

// rewrite turns discordgo's request (fixed host, API v9) into ours. The host cannot be anything but the configured one.
func (t *transport) rewrite(req *http.Request, c *call) (*http.Request, error) {
	rest, ok := strings.CutPrefix(req.URL.EscapedPath(), discordgoPath)
	if !ok || req.URL.Host != discordgoHost {
		return nil, &Error{Class: ClassInvalid, Op: c.op, Message: "a request to another host than Discord's API was stopped", unsent: true}
	}
	out := req.Clone(req.Context())
	if c.mutating() {
		out.GetBody = nil // or net/http would send it again, with pauses, when the peer resets its HTTP/2 stream
	}
	target := *t.base
	target.RawQuery = req.URL.RawQuery
	target.Path, target.RawPath = t.base.Path+"/"+rest, ""
	out.URL, out.Host = &target, ""
	out.Header.Set("User-Agent", t.agent)
	if c.reason != "" {
		out.Header.Set("X-Audit-Log-Reason", encodeReason(cutReason(c.reason)))
	}
	if !c.public {
		out.Header.Set("Authorization", "Bot "+t.token.Reveal())
	}
	return out, nil
}

// discordgo computes its endpoints once, at program start; they are only a notation here.
var discordgoHost, discordgoPath = func() (string, string) {
	u, err := url.Parse(discordgo.EndpointAPI)
	if err != nil {
		panic(err) // a constant of a pinned library
	}
	return u.Host, u.EscapedPath()
}()

// maxConnections is how many connections a call may be tried on. net/http repeats what has no body without a bound when each connection that it makes
// fails in a certain way. Between the second and the third try of a stream that an HTTP/2 server resets it also makes a pause of a second, which can not
// be seen coming.
const maxConnections = 2

var errAgain = errors.New("the connection failed, and so did another one")

// exchange sends the request and reads the whole answer. A nil response means that none came; cut, that the body of a
// refusal is not whole.
func (t *transport) exchange(req *http.Request, c *call) (resp *http.Response, body []byte, cut bool, err error) {
	if err := req.Context().Err(); err != nil {
		return nil, nil, false, t.broken(c, err, false)
	}
	ctx, cancel := context.WithCancel(req.Context())
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
	resp, err = t.inner.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil && asked.Load() > maxConnections {
		err = errAgain
	}
	if err != nil {
		return nil, nil, false, t.broken(c, err, connected.Load() || asked.Load() == 0)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("a response of more than %d bytes", maxAnswer)
	}
	if err != nil && (resp.StatusCode < 300 || resp.StatusCode >= 500) {
		e := t.broken(c, err, true)
		e.Status = resp.StatusCode
		return resp, nil, false, e
	}
	return resp, body, err != nil, nil // a refusal is judged by its status and by what came of its body
}

// broken makes the error of a call without a whole answer. Only when there was never a connection, and the transport is one that tells of its
// connections, is it certain that nothing happened: once there is one, the request may have gone out.
func (t *transport) broken(c *call, err error, sent bool) *Error {
	class := ClassTransient
	if sent && c.mutating() {
		class = ClassUnknown
	}
	return &Error{Class: class, Op: c.op, Message: clean(plain(err), t.token, c.secret), cause: contextCause(err)}
}

// plain drops from an error the URL that net/http puts in front, and the addresses.
func plain(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return withoutAddresses(err.Error())
}

// addresses are those of a connection as package net tells them: "read tcp 10.1.2.3:40111->162.159.128.233:443: ...".
var addresses = regexp.MustCompile(`\b((?:tcp|udp)[46]?) \S+:\d+: `)

// withoutAddresses drops what differs with every connection although the reason is the same. Errors end up in the status of objects, which would
// be written again with every try.
func withoutAddresses(text string) string { return addresses.ReplaceAllString(text, "$1: ") }

// judge turns every answer that is not a success into an error, and keeps count of the refused ones.
func (t *transport) judge(c *call, resp *http.Response, body []byte, cut bool, refused *ratelimit.Refusal) error {
	status := resp.StatusCode
	if refused != nil {
		if refused.Scope != ratelimit.ScopeShared {
			t.invalid.add(status)
		}
		return &RateLimited{Op: c.op, After: refused.After, Scope: refused.Scope}
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		t.invalid.add(status)
	}
	if status >= 200 && status < 300 {
		return nil
	}
	code, message, fields, ok := parseErrorBody(body, t.token, c.secret)
	e := &Error{Op: c.op, Status: status, Code: code, Message: message, Fields: fields}
	if ok {
		e.Class = classify(status, code, fields, c.mutating())
	} else {
		e.Message = http.StatusText(status) + " without an explanation by Discord"
		e.Class = classifyForeign(status, cut, c.mutating())
	}
	if e.Class == ClassBadToken && c.public {
		e.Class = ClassGone // an unknown webhook token: it says nothing about the bot's
	}
	if e.Class == ClassBadToken {
		t.refuse(e)
	}
	return e
}

// refusal reads a 429: of header and body the longer wait. One that is no JSON and names no scope comes from what stands in front of Discord and
// is for everything; one of Discord's own that names no scope is for this bot.
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

// success is what discordgo gets to see: a body in memory, no header that its own limiter would act on, and its own request, without the token.
func success(req *http.Request, resp *http.Response, body []byte) *http.Response {
	status := http.StatusOK // discordgo knows 200, 201 and 204 only
	if len(body) == 0 {
		status = http.StatusNoContent
	}
	return &http.Response{
		StatusCode: status, Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// maxReason is the length that Discord accepts for an encoded reason; a longer one fails the call.
const maxReason = 512

// encodeReason makes a header value of a reason. A plus is encoded too: some decoders take it for a space.
func encodeReason(reason string) string {
	return strings.ReplaceAll(url.PathEscape(reason), "+", "%2B")
}

// cutReason cuts an audit log reason to what Discord accepts, at a whole character.
func cutReason(reason string) string {
	length := 0
	for i, r := range reason {
		if length += len(encodeReason(string(r))); length > maxReason {
			return reason[:i]
		}
	}
	return reason
}

// withCall puts a call where the transport finds it.
func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
