// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
)

// run starts the Client. It calls Guild before the Gateway connects, so that GUILD_CREATE brings
// the bot's roles.
func run(r *cachetest.Rig) (stop func() error) {
	r.Helper()
	r.Client.Guild(r.Guild)
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan error, 1)
	go func() { done <- r.Client.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	r.Cleanup(func() { _ = stop() })
	return stop
}

func callsOf(r *cachetest.Rig) int {
	n := 0
	for _, c := range r.Discord.RequestCounts() {
		n += c
	}
	return n
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(5 * time.Minute) // tests run in parallel, on a slow machine too
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within five minutes", what)
		}
	}
}
