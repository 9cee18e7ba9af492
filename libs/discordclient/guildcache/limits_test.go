// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
	"jutsu.com/operators/test/discordtest"
)

type watch struct {
	next          http.RoundTripper
	sent, tooMany atomic.Int64
}

func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent.Add(1)
	resp, err := w.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		w.tooMany.Add(1)
	}
	return resp, err
}

func TestFiveHundredChannelsWithoutARefusal(t *testing.T) {
	t.Parallel()
	wire := &watch{next: &http.Transport{MaxIdleConnsPerHost: 32}}
	r := cachetest.New(t, func(so *discordtest.Options, co *guildcache.Options) {
		so.Limits = discordtest.DefaultLimits()
		// The bucket has fewer creates than the test has workers, so a slow machine uses it up too.
		so.Limits.Routes["POST /guilds/{guild_id}/channels"] = discordtest.Rate{N: 10, Per: 250 * time.Millisecond}
		co.GlobalPerSecond, co.Transport = 50, wire
	})
	run(r)
	view := liveOn(r)
	waits := createAll(r, 50, 450, 16)
	if got := wire.tooMany.Load(); got != 0 {
		t.Errorf("Discord refused %d calls, want none", got)
	}
	if got := len(r.Discord.Guild(r.Guild).Channels); got != 500 {
		t.Errorf("%d channels, want 500", got)
	}
	if got := len(view.Snapshot().Channels()); got != 500 {
		t.Errorf("%d channels in the view, want 500", got)
	}
	cachetest.WantClass(t, cachetest.RetryWhileLimited(func() error {
		_, err := r.Client.CreateChannel(t.Context(), r.Guild, discordclient.ChannelCreate{Name: "one-more"}, "")
		return err
	}), discordclient.ClassLimit)
	t.Logf("%d waits were returned", waits)
	if got := r.Discord.RequestCounts()["POST /guilds/{guild_id}/channels"]; got != 501 {
		t.Errorf("%d requests were sent to create 501 channels", got)
	}
	if waits == 0 {
		t.Error("no call came near a limit, so the test has tested nothing")
	}
}

// createAll creates categories and channels, and returns how often a bucket or the global limit
// made a worker wait.
func createAll(r *cachetest.Rig, categories, channels, workers int) int64 {
	work := make(chan discordclient.ChannelCreate, categories+channels)
	for i := range categories {
		work <- discordclient.ChannelCreate{Name: fmt.Sprintf("group-%02d", i), Type: discordgo.ChannelTypeGuildCategory}
	}
	for i := range channels {
		work <- discordclient.ChannelCreate{Name: fmt.Sprintf("channel-%03d", i)}
	}
	close(work)
	var wg sync.WaitGroup
	var waits atomic.Int64
	for range workers {
		wg.Go(func() {
			for in := range work {
				if err := cachetest.RetryWhileLimited(func() error {
					_, err := r.Client.CreateChannel(r.Context(), r.Guild, in, "uid-"+in.Name)
					limited, ok := errors.AsType[*discordclient.RateLimited](err)
					if ok && (limited.Scope == ratelimit.ScopeUser || limited.Scope == ratelimit.ScopeGlobal) {
						waits.Add(1)
					}
					return err
				}); err != nil {
					r.Errorf("%s: %v", in.Name, err)
				}
			}
		})
	}
	wg.Wait()
	return waits.Load()
}
