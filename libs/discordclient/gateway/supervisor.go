// SPDX-License-Identifier: Apache-2.0

// Package gateway keeps a connection to Discord's Gateway:
// https://discord.com/developers/docs/events/gateway. Every connection starts a new session
// (IDENTIFY), because Discord then sends the whole state of every guild and no event is lost.
// Discord resets the token after 1000 IDENTIFYs a day, so [Run] stays offline while few remain.
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

// Start is the Gateway's address and the number of sessions that may still be started.
type Start struct {
	URL        string
	Remaining  int
	ResetAfter time.Duration
}

// RetryAfter is an error of [Config].Lookup with the time until the next look-up.
type RetryAfter struct {
	Err   error
	After time.Duration
}

func (e *RetryAfter) Error() string { return e.Err.Error() }

// Fatal is an error after which [Run] does not reconnect, because only a user can fix the cause.
type Fatal struct {
	Code   int // the Gateway's close code; 0 if the Gateway did not cause the error
	Reason string
}

func (e *Fatal) Error() string {
	if e.Code == 0 {
		return e.Reason
	}
	return fmt.Sprintf("the Gateway closed the connection and does not allow a reconnect: %s (code %d)", e.Reason, e.Code)
}

// Close codes for a refused token, and for too many guilds in one session.
const (
	CloseBadToken      = 4004
	CloseTooManyGuilds = 4011
)

// Discord forbids reconnecting after these close codes.
var fatalCodes = map[int]string{ //nolint:gosec // G101: texts about credentials, none itself
	CloseBadToken:      "the bot token is refused",
	4010:               "invalid shard",
	CloseTooManyGuilds: "the bot is in so many guilds that sharding is required",
	4012:               "invalid Gateway version",
	4013:               "invalid intents",
	4014:               "the bot asks for an intent that its application is not allowed to use",
}

// Handler receives events, in order and in one goroutine. A slow method delays further events.
type Handler interface {
	// Connecting is called before a session starts. The session's state is newer than this call.
	Connecting()
	// Dispatch delivers an event. gap reports whether events of the
	// same connection were lost directly before this event.
	Dispatch(event string, data []byte, gap bool)
	Alive() // called for each frame that Discord sends
	Disconnected(err error)
}

// Config configures [Run]. Only Timing is optional.
type Config struct {
	HTTP    *http.Client // for the handshake; must not follow redirects to other hosts
	Token   func() string
	Intents int
	Agent   string
	// Lookup runs before each connection. It may return a *Fatal or a *RetryAfter.
	Lookup  func(context.Context) (Start, error)
	Handler Handler
	Timing  Timing
}

// Timing has the durations of a connection. The zero value of a field means its default.
type Timing struct {
	Hello   time.Duration // from dialling to HELLO; default 20 s
	Ready   time.Duration // from IDENTIFY to READY; default 30 s
	Spacing time.Duration // least time between two IDENTIFYs; Discord's limit, and the default, is 5 s
	MinWait time.Duration // first pause after a failure; default 1 s
	MaxWait time.Duration // longest pause; default 2 min, to stay below Discord's 1000 sessions a day
	// Longest pause after a Lookup error that is no *[RetryAfter]; default 10 s.
	Lookup time.Duration
	Steady time.Duration // a connection that lasts longer resets the pause to MinWait; default 1 min
	// After op 9 (Invalid Session), Run pauses for Invalid and a random time below 4 times Invalid.
	// Default 1 s.
	Invalid time.Duration
	// Pause of Run's caller after a *[Fatal]; guildcache's default is 1 h. Run does not use it.
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

// sessionReserve is the number of IDENTIFYs that Run leaves to other processes with the same token.
const sessionReserve = 5

// Run keeps a connection until the context ends (nil) or reconnecting is useless (a *Fatal).
func Run(ctx context.Context, c Config) error {
	c.Timing = c.Timing.withDefaults()
	s := supervisor{Config: c, pause: c.Timing.MinWait}
	for ctx.Err() == nil {
		wait, err := s.once(ctx)
		s.Handler.Disconnected(err) // even if the context ended: from here on nothing updates the state
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

func (s *supervisor) once(ctx context.Context) (time.Duration, error) {
	start, err := s.Lookup(ctx)
	if retry, ok := errors.AsType[*RetryAfter](err); ok {
		return max(retry.After, s.Timing.MinWait), err
	}
	if err != nil {
		return min(s.backoff(), s.Timing.Lookup), err
	}
	if start.Remaining <= sessionReserve {
		wait := max(start.ResetAfter, s.Timing.MaxWait)
		return wait, fmt.Errorf(
			"only %d session starts are left, and Discord resets the token of a bot that starts more; waiting %s",
			start.Remaining, wait)
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

// pauseAfter returns the pause after a session. The pause doubles after each short session:
// otherwise a server that ends each session at once would use up the day's IDENTIFYs.
func (s *supervisor) pauseAfter(err error, lasted time.Duration) time.Duration {
	steady := lasted > s.Timing.Steady
	if steady {
		s.pause = s.Timing.MinWait
	}
	switch {
	case errors.Is(err, errReconnect) && steady: // Discord's routine request: reconnect at once
		return 0
	case errors.Is(err, errInvalidSession):
		return max(s.Timing.Invalid+jitter(4*s.Timing.Invalid), s.backoff())
	}
	return s.backoff()
}

func (s *supervisor) backoff() time.Duration {
	wait := s.pause/2 + jitter(s.pause/2+1)
	s.pause = min(2*s.pause, s.Timing.MaxWait)
	return wait
}

func jitter(limit time.Duration) time.Duration {
	return rand.N(limit) //nolint:gosec // G404: spreads clients over time, no secret
}

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
