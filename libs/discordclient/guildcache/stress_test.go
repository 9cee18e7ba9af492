// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

func TestViewUnderStress(t *testing.T) {
	t.Parallel()
	all := func(string) bool { return true }
	for name, tc := range map[string]struct {
		loss discordtest.GatewayFaults
		heal func(*cachetest.Rig)
	}{
		"events are lost on the wire": {discordtest.GatewayFaults{LoseOnWire: all}, func(r *cachetest.Rig) {
			r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "last"}) // shows a gap if the last events were lost
		}},
		"events are lost without a gap": {discordtest.GatewayFaults{Miss: all}, func(r *cachetest.Rig) {
			if err := r.Client.Refresh(r.Context(), r.Guild); err != nil { // as the poller does every hour
				r.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stress(t, tc.loss, tc.heal)
		})
	}
}

func stress(t *testing.T, loss discordtest.GatewayFaults, heal func(*cachetest.Rig)) {
	t.Helper()
	r := cachetest.New(t, func(so *discordtest.Options, co *guildcache.Options) {
		so.Limits.Channels = 5000
		co.Resync = 50 * time.Millisecond
	})
	run(r)
	view := liveOn(r)
	r.Create(discordclient.ChannelCreate{Name: "first"})
	var workers, readers sync.WaitGroup
	done := make(chan struct{})
	faultsTurn, usersTurn := make(chan struct{}, writers*writes), make(chan struct{}, writers*writes)
	for w := range writers {
		workers.Go(func() { writer(r, w, func() { faultsTurn <- struct{}{}; usersTurn <- struct{}{} }) })
	}
	workers.Go(func() { users(r, view, usersTurn) })
	workers.Go(func() {
		late := discordtest.GatewayFaults{Delay: lateness()}
		for _, faults := range []discordtest.GatewayFaults{{}, loss, late, {}, late, loss} {
			r.Discord.Gateway().SetFaults(faults)
			for range 30 { // each fault lasts for 30 writes
				<-faultsTurn
			}
			r.Discord.Gateway().Drop(0)
		}
		r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{})
	})
	readers.Go(func() {
		events := r.Client.Subscribe(t.Context())
		for {
			select {
			case <-done:
				return
			case <-events:
				_ = view.Snapshot().Children("")
				_, _ = view.Snapshot().BotPermissions()
				_ = r.Client.Stats()
			}
		}
	})
	workers.Wait()
	close(done)
	readers.Wait()
	liveOn(r)
	heal(r)
	agrees(r, view)
}

func lateness() func(string) time.Duration {
	rng := rand.New(rand.NewPCG(1, 1))
	return func(string) time.Duration { return time.Duration(rng.IntN(30)) * time.Millisecond }
}

const writers, writes = 4, 60

func writer(r *cachetest.Rig, w int, wrote func()) {
	rng := rand.New(rand.NewPCG(uint64(w), 1))
	ctx := r.Context()
	var ids []string
	for i := range writes {
		var err error
		switch {
		case len(ids) < 3 || rng.IntN(3) == 0:
			var c *discordclient.Channel
			err = cachetest.RetryWhileLimited(func() (err error) {
				c, err = r.Client.CreateChannel(ctx, r.Guild, discordclient.ChannelCreate{Name: fmt.Sprintf("w%d-%d", w, i)}, "")
				return err
			})
			if err == nil {
				ids = append(ids, c.ID)
			}
		case rng.IntN(3) == 0:
			err = cachetest.RetryWhileLimited(func() error { return r.Client.DeleteChannel(ctx, ids[0], "") })
			ids = ids[1:]
		default:
			id := ids[rng.IntN(len(ids))]
			for range 3 {
				err = cachetest.RetryWhileLimited(func() error {
					_, err := r.Client.EditChannel(ctx, id, discordclient.ChannelEdit{Topic: discordclient.Set(strconv.Itoa(rng.Int()))}, "")
					return err
				})
			}
		}
		if err != nil {
			r.Error(err)
		}
		wrote()
	}
}

func users(r *cachetest.Rig, view *guildcache.View, turn <-chan struct{}) {
	for i := range 100 {
		id := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: fmt.Sprintf("hand-%d", i)})
		r.Discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Topic = "by hand" })
		for _, c := range view.Snapshot().Channels() {
			if c.Name == fmt.Sprintf("hand-%d", i-5) {
				r.Discord.DeleteChannelByHand(c.ID)
			}
		}
		<-turn
		<-turn
	}
}
