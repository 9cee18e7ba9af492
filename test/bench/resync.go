package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

// unheard takes the Gateway away, so that nothing tells of changes, and looks at what it costs to read instead, and how soon drift is repaired.
func (b *bench) unheard(ctx context.Context, s *stage, at sheet) error {
	d, err := simulate(crowd{guilds: 1, channels: at.n, bots: 1})
	if err != nil {
		return err
	}
	defer d.Close()
	s.args = append(s.args, "--discord-api-url="+d.APIURL(), "--resync-period="+b.resync.String())
	if _, err := s.startLeader(ctx); err != nil {
		return err
	}
	_, watch, err := b.createChannels(ctx, s, d, at)
	if err != nil {
		return err
	}
	if _, err := watch.await(ctx); err != nil {
		return err
	}
	d.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
	d.Gateway().Drop(0)
	b.say("%s: reading every %s instead of hearing from the Gateway", at.scenario, b.resync)
	read, err := d.readings(ctx, b.resync, 3)
	if err != nil {
		return err
	}
	at.addAgainst(3, "calls that read a guild", read, "per period") // the guild, its channels, and which roles the bot has
	texts := d.texts()
	texts = texts[:min(len(texts), drifts)]
	took, err := d.repairs(ctx, texts, 2*b.resync/time.Duration(len(texts))) // in the course of two periods, so that all moments of one count the same
	if err != nil {
		return err
	}
	unit := fmt.Sprintf("s, at a period of %s", b.resync)
	at.add("drift to repair without events, p50", quantile(took, 0.5), unit)
	at.add("drift to repair without events, p99", quantile(took, 0.99), unit)
	return nil
}

// readings waits until the guild, which is read once in a period, was read so often, and returns how many calls each reading took, but for those about the
// Gateway itself.
func (d *simulated) readings(ctx context.Context, period time.Duration, times int) (callsEach float64, err error) {
	const list = "GET /guilds/{guild_id}/channels"
	count := func() (lists, reads int) {
		for route, n := range d.RequestCounts() {
			if strings.HasPrefix(route, "GET ") && !strings.HasPrefix(route, "GET /gateway") {
				reads += n
			}
			if route == list {
				lists = n
			}
		}
		return lists, reads
	}
	// Each count is taken between two readings, when nothing has been read for a while, so that none is counted in part.
	between := func(least int) (lists, reads int, err error) {
		since := time.Now()
		err = until(ctx, func() (bool, error) {
			if l, r := count(); r != reads {
				lists, reads, since = l, r, time.Now()
			}
			return lists >= least && time.Since(since) > period/4, nil
		})
		return lists, reads, err
	}
	first, _ := count()
	lists, reads, err := between(first + 1)
	if err != nil {
		return 0, err
	}
	listsNow, readsNow, err := between(lists + times)
	return float64(readsNow-reads) / float64(listsNow-lists), err
}
