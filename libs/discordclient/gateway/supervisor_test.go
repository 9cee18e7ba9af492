// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type ended struct {
	quiet
	times int
}

func (e *ended) Disconnected(error) { e.times++ }

func TestRunEndsDisconnected(t *testing.T) {
	t.Parallel()
	for name, fatal := range map[string]bool{"context": false, "fatal": true} {
		ctx, cancel := context.WithCancel(t.Context())
		h := &ended{}
		err := Run(ctx, Config{Handler: h, Lookup: func(context.Context) (Start, error) {
			if fatal {
				return Start{}, &Fatal{Reason: "no"}
			}
			cancel()
			return Start{}, ctx.Err()
		}})
		cancel()
		if h.times != 1 || (err != nil) != fatal {
			t.Errorf("%s: reported %d times, Run returned %v", name, h.times, err)
		}
	}
}

func TestConnectionsAreSpaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var dialled []time.Time
		refuse := roundTripper(func(*http.Request) (*http.Response, error) {
			dialled = append(dialled, time.Now())
			return nil, errors.New("refused")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Run(ctx, Config{
			HTTP: &http.Client{Transport: refuse}, Handler: &ended{}, Token: func() string { return "token" },
			Timing: Timing{MinWait: time.Millisecond, MaxWait: time.Millisecond, Spacing: 5 * time.Second},
			Lookup: func(context.Context) (Start, error) { return Start{URL: "wss://gateway.example", Remaining: 1000}, nil },
		})
		if err != nil || len(dialled) < 10 {
			t.Fatalf("%d connections in a minute, %v", len(dialled), err)
		}
		for i := 1; i < len(dialled); i++ {
			if got := dialled[i].Sub(dialled[i-1]); got < 5*time.Second || got > 6*time.Second {
				t.Errorf("connection %d came %s after the one before", i, got)
			}
		}
	})
}

// A failed look-up costs no session, so it is repeated after at most ten seconds.
func TestLookupsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := Run(ctx, Config{Handler: &ended{}, Lookup: func(context.Context) (Start, error) {
			asked = append(asked, time.Now())
			return Start{}, errors.New("502")
		}})
		if err != nil || len(asked) > 720 {
			t.Fatalf("%d look-ups in an hour, %v", len(asked), err)
		}
		for i := 1; i < len(asked); i++ {
			if got := asked[i].Sub(asked[i-1]); got > 10*time.Second {
				t.Errorf("look-up %d came %s after the one before", i, got)
			}
		}
	})
}

func TestTheLastSessionsAreLeft(t *testing.T) {
	t.Parallel()
	for reset, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, time.Hour: time.Hour} {
		s := supervisor{Config: Config{Timing: Timing{}.withDefaults(), Lookup: func(context.Context) (Start, error) {
			return Start{Remaining: sessionReserve, ResetAfter: reset}, nil
		}}}
		wait, err := s.once(t.Context())
		if wait != want || err == nil || !strings.HasSuffix(err.Error(), "; waiting "+want.String()) {
			t.Errorf("it waits %s, want %s; the error is %v", wait, want, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestBackoff(t *testing.T) {
	t.Parallel()
	timing := Timing{MinWait: time.Second, MaxWait: 6 * time.Second}
	differs := map[time.Duration]bool{}
	for range 50 {
		s := supervisor{Config: Config{Timing: timing}, pause: timing.MinWait}
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 6 * time.Second, 6 * time.Second} {
			got := s.backoff()
			if got < want/2 || got > want {
				t.Fatalf("pause %d is %s, want %s to %s", i, got, want/2, want)
			}
			differs[got] = true
		}
	}
	if len(differs) < 50 {
		t.Errorf("only %d pauses of 250 differ", len(differs))
	}
}

func TestPauseAfterConnections(t *testing.T) {
	t.Parallel()
	timing := Timing{MinWait: 8 * time.Second, MaxWait: 64 * time.Second, Steady: time.Minute, Invalid: time.Second}
	for name, c := range map[string]struct {
		err              error
		lasted, min, max time.Duration
	}{
		"op 7 after an hour":               {errReconnect, time.Hour, 0, 0},
		"op 7 after a second":              {errReconnect, time.Second, 16 * time.Second, 32 * time.Second},
		"op 9 after a second":              {errInvalidSession, time.Second, 16 * time.Second, 32 * time.Second},
		"op 9 after an hour":               {errInvalidSession, time.Hour, 4 * time.Second, 8 * time.Second},
		"a dead connection after a second": {errZombie, time.Second, 16 * time.Second, 32 * time.Second},
	} {
		s := supervisor{Config: Config{Timing: timing}, pause: 32 * time.Second}
		if got := s.pauseAfter(c.err, c.lasted); got < c.min || got > c.max {
			t.Errorf("%s: %s, want %s to %s", name, got, c.min, c.max)
		}
	}
}

func TestFirstBeat(t *testing.T) {
	t.Parallel()
	differs := map[time.Duration]bool{}
	for range 50 {
		got := firstBeat(time.Minute)
		if got < 0 || got >= time.Minute {
			t.Fatalf("first beat after %s", got)
		}
		differs[got] = true
	}
	if len(differs) < 25 {
		t.Errorf("only %d of 50 differ", len(differs))
	}
}
