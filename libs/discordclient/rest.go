package discordclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
)

// rest carries out the calls of [REST] through discordgo's request plumbing and our transport.
type rest struct {
	session     *discordgo.Session
	transport   *transport
	timeout     time.Duration
	webhookBase string // what webhook URLs start with: the API address without its version
}

func newREST(o *Options, t *transport) *rest {
	return &rest{
		// Not discordgo.New: the session needs nothing but these, holds no token, keeps no state and logs nothing. Its
		// limiter is never used, see do.
		session:     &discordgo.Session{Client: &http.Client{Transport: t, CheckRedirect: refuseRedirect}, LogLevel: -1},
		transport:   t,
		timeout:     o.Timeout,
		webhookBase: strings.TrimSuffix(t.base.String(), "/v10"),
	}
}

func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

var (
	snowflake    = regexp.MustCompile(`^[0-9]{1,20}$`)
	webhookChars = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)
)

// do makes one call: in is sent as JSON unless nil, the answer is read into out unless nil. ids are what was put into
// the URL; anything but digits in one of them would be another URL than the one meant.
func (r *rest) do(ctx context.Context, c call, in, out any, ids ...string) error {
	for _, id := range ids {
		if !snowflake.MatchString(id) {
			return &Error{Class: ClassInvalid, Op: c.op, Message: fmt.Sprintf("a text of %d bytes is not a Discord id, which is 1 to 20 digits", len(id)), unsent: true}
		}
	}
	if c.major == "" && len(ids) > 0 {
		c.major = ids[0]
	}
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return &Error{Class: ClassInvalid, Op: c.op, Message: clean(err.Error()), unsent: true}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// A fresh bucket, locked: discordgo releases it and never looks at its own limiter, which would sleep.
	bucket := &discordgo.Bucket{Remaining: 1}
	bucket.Lock()
	answer, err := r.session.RequestWithLockedBucket(c.method, c.url, "application/json", body, bucket, 0,
		discordgo.WithContext(withCall(ctx, &c)))
	if err != nil {
		return r.typed(&c, err)
	}
	if out == nil {
		return nil
	}
	if bytes.Equal(bytes.TrimSpace(answer), []byte("null")) { // encoding/json leaves out as it was: an empty list
		return c.unreadable("null")
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return c.unreadable(clean(err.Error(), r.transport.token, c.secret))
	}
	return nil
}

// unreadable is the error of a success that does not say what came of the call.
func (c *call) unreadable(why string) error {
	class := ClassTransient
	if c.mutating() {
		class = ClassUnknown // it was carried out, but what came of it is not known
	}
	return &Error{Class: class, Op: c.op, Status: http.StatusOK, Message: "a response that cannot be read: " + why}
}

// object makes a call that answers with an object, which must have the id that id reads out of it.
func object[T any](ctx context.Context, r *rest, c call, in any, id func(*T) string, ids ...string) (T, error) {
	var out, none T
	if err := r.do(ctx, c, in, &out, ids...); err != nil {
		return none, err
	}
	if id(&out) == "" {
		return none, c.unreadable("an object without an id")
	}
	return out, nil
}

// typed finds our error in what discordgo and net/http wrap around it. Anything else never reached the transport.
func (r *rest) typed(c *call, err error) error {
	if e, ok := errors.AsType[*RateLimited](err); ok {
		return e
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Class: ClassTransient, Op: c.op, Message: clean(plain(err), r.transport.token, c.secret), cause: contextCause(err)}
}
