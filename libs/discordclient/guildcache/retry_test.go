// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/store"
)

func TestAPollThatFailsIsRetriedSoon(t *testing.T) {
	t.Parallel()
	for name, gateway := range map[string]bool{"polled": false, "live, after a gap": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls []time.Time
				c, err := New(Options{DisableGateway: true, Resync: 24 * time.Hour, Options: discordclient.Options{
					Token: discordclient.NewSecret("token"),
					Transport: roundTrip(func(*http.Request) (*http.Response, error) {
						calls = append(calls, time.Now())
						return nil, errors.New("no route to host")
					}),
				}})
				if err != nil {
					t.Fatal(err)
				}
				c.Guild("1")
				if gateway {
					c.store.Connecting()
					c.store.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
					c.store.Dispatch("GUILD_CREATE", []byte(`{"id":"1","name":"g"}`), false)
					c.store.Dispatch("X", nil, true)
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if err := c.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if n := len(calls); n < 6 || n > 12 {
					t.Errorf("%d polls in a minute, want about seven", n)
				}
				for i := 2; i < len(calls); i++ {
					if pause := calls[i].Sub(calls[i-1]); pause < store.FirstRetry/2 {
						t.Errorf("poll %d came %v after the one before", i, pause)
					}
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
