// SPDX-License-Identifier: Apache-2.0

// Package gateway keeps one connection to Discord's Gateway up:
// https://discord.com/developers/docs/events/gateway.
//
// Every connection is a fresh session (IDENTIFY) and not a resumed one: what it brings first is the
// whole state of every guild, so nothing that happened in between can be missed, whatever became of
// the connection before. A session costs one IDENTIFY of the 1000 that Discord grants per day (one
// more resets the token), so the supervisor asks how many are left before each one and rather stays
// offline than use the last of them.
//
// connection.go is one connection, from dialling to its end; supervisor.go decides what comes after
// it.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// Start is where to connect and how many sessions may still be started.
type Start struct {
	URL        string
	Remaining  int
	ResetAfter time.Duration
}

// RetryAfter is an error of Lookup that says how long to wait before asking again.
type RetryAfter struct {
	Err   error
	After time.Duration
}

// Error returns the cause's text.
func (e *RetryAfter) Error() string { return e.Err.Error() }

// Fatal ends the supervisor: no further connection can succeed until a user does something.
type Fatal struct {
	Code   int // the Gateway's close code; 0 when it was not the Gateway that refused
	Reason string
}

// Error says why.
func (e *Fatal) Error() string {
	if e.Code == 0 {
		return e.Reason
	}
	return fmt.Sprintf("the Gateway closed the connection for good: %s (code %d)", e.Reason, e.Code)
}

// Close codes: for a token that is refused, and for a bot in more guilds than a session may have.
const (
	CloseBadToken      = 4004
	CloseTooManyGuilds = 4011
)

// fatalCodes are the close codes after which Discord asks not to reconnect.
var fatalCodes = map[int]string{ //nolint:gosec // G101: texts about credentials, none itself
	CloseBadToken:      "the bot token is refused",
	4010:               "invalid shard",
	CloseTooManyGuilds: "the bot is in so many guilds that sharding is required",
	4012:               "invalid Gateway version",
	4013:               "invalid intents",
	4014:               "an intent that the application is not allowed to use",
}

// Handler receives what happens. Its methods are called from one goroutine, in order, and hold up
// the connection.
type Handler interface {
	// Connecting says that a new session is about to be started: what it brings is at least as new
	// as this moment.
	Connecting()
	// Dispatch delivers an event. A gap in the numbers before it means that events were lost.
	Dispatch(event string, data []byte, gap bool)
	// Alive says that something was heard from Discord.
	Alive()
	// Disconnected says that a connection is over, or did not come about, and why.
	Disconnected(err error)
}

// Config configures [Run]. All fields must be set but where a default is given.
type Config struct {
	HTTP    *http.Client // for the websocket's handshake; it must not follow redirects to other hosts
	Token   func() string
	Intents int
	Agent   string
	// Lookup is asked before each connection. A *Fatal from it ends Run, a *RetryAfter says when to
	// ask again.
	Lookup  func(context.Context) (Start, error)
	Handler Handler
	Timing  Timing
}

// Timing holds the times. The zero value of each field means its default.
type Timing struct {
	Hello   time.Duration // from dialling to HELLO; default 20 s
	Ready   time.Duration // from IDENTIFY to READY; default 30 s
	Spacing time.Duration // between two IDENTIFYs at least; Discord: 5 s
	MinWait time.Duration // first pause after a failure; default 1 s
	MaxWait time.Duration // longest pause; default 2 min, less than 1000 sessions a day
	// Lookup is the longest pause after a look-up that failed, which uses up no session: with the
	// Gateway all else comes back after an outage. Default 10 s.
	Lookup time.Duration
	Steady time.Duration // a connection that lasts this long resets the pause; default 1 min
	// Invalid is the least pause after op 9; a random part of it is added. Discord: 1 to 5 s;
	// default 1 s, up to 5 s.
	Invalid time.Duration
	// Closed is how long after a *[Fatal] the caller of Run should call it again. Default 1 h.
	Closed time.Duration
}

func (t Timing) withDefaults() Timing {
	return Timing{
		Hello: cmp.Or(t.Hello, 20*time.Second), Ready: cmp.Or(t.Ready, 30*time.Second),
		Spacing: cmp.Or(t.Spacing, 5*time.Second), MinWait: cmp.Or(t.MinWait, time.Second),
		MaxWait: cmp.Or(t.MaxWait, 2*time.Minute), Lookup: cmp.Or(t.Lookup, 10*time.Second),
		Steady:  cmp.Or(t.Steady, time.Minute),
		Invalid: cmp.Or(t.Invalid, time.Second),
	}
}

// sessionReserve is how many IDENTIFYs are left alone: other processes with the same token may need
// them.
const sessionReserve = 5

// Run keeps a connection up until the context ends (nil) or going on is useless (a *Fatal).
func Run(ctx context.Context, c Config) error {
	c.Timing = c.Timing.withDefaults()
	s := supervisor{Config: c, pause: c.Timing.MinWait}
	for ctx.Err() == nil {
		wait, err := s.once(ctx)
		s.Handler.Disconnected(err) // also when the context ended: nothing keeps the state up to date from here on
		if fatal, ok := errors.AsType[*Fatal](err); ok && ctx.Err() == nil {
			return fatal
		}
		sleep(ctx, wait)
	}
	return nil
}

type supervisor struct {
	Config
	pause      time.Duration
	identified time.Time
}

// once makes one connection and stays with it to its end; it returns how long to wait before the
// next.
func (s *supervisor) once(ctx context.Context) (time.Duration, error) {
	start, err := s.Lookup(ctx)
	if retry, ok := errors.AsType[*RetryAfter](err); ok {
		return max(retry.After, s.Timing.MinWait), err
	}
	if err != nil {
		return min(s.backoff(), s.Timing.Lookup), err
	}
	if start.Remaining <= sessionReserve {
		return max(start.ResetAfter, s.Timing.MaxWait), fmt.Errorf(
			"only %d session starts are left, and one too many would reset the token; waiting %s",
			start.Remaining, start.ResetAfter)
	}
	if rest := s.Timing.Spacing - time.Since(s.identified); !s.identified.IsZero() && !sleep(ctx, rest) {
		return 0, ctx.Err()
	}
	s.identified = time.Now()
	conn := connection{Config: s.Config}
	err = conn.run(ctx, start.URL)
	if fatal := fatalOf(err); fatal != nil {
		return 0, fatal
	}
	return s.pauseAfter(err, time.Since(s.identified)), err
}

// pauseAfter is how long to wait after a connection that lasted so long and ended so. A peer that
// ends every session right away, whatever it gives as the reason, must not use up the day's
// IDENTIFYs.
func (s *supervisor) pauseAfter(err error, lasted time.Duration) time.Duration {
	steady := lasted > s.Timing.Steady
	if steady {
		s.pause = s.Timing.MinWait
	}
	switch {
	case errors.Is(err, errReconnect) && steady: // Discord asks for it in its normal course: at once
		return 0
	case errors.Is(err, errInvalidSession):
		return max(s.Timing.Invalid+jitter(4*s.Timing.Invalid), s.backoff())
	}
	return s.backoff()
}

// backoff returns the next pause: twice the last one up to the longest, of which a random half.
func (s *supervisor) backoff() time.Duration {
	wait := s.pause/2 + jitter(s.pause/2+1)
	s.pause = min(2*s.pause, s.Timing.MaxWait)
	return wait
}

// jitter is a random duration from 0 to below limit, which is more than 0.
func jitter(limit time.Duration) time.Duration {
	return rand.N(limit) //nolint:gosec // G404: spreads clients over time, no secret
}

// sleep waits; false means that the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
