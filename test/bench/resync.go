// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"jutsu.com/operators/test/discordtest"
)

func (b *bench) withoutGateway(ctx context.Context, s *stage, at sheet) {
	d := s.discord
	s.args = append(s.args, "--resync-period="+b.resync.String())
	s.startLeader(ctx)
	_, watch := b.createChannels(ctx, s, d, at)
	watch.await(ctx)
	d.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
	d.Gateway().Drop(0)
	b.say("%s: the Gateway refuses connections, so the operator reads the guild every %s", at.scenario, b.resync)
	read := d.readings(ctx, 3)
	// The operator reads at least the guild, its channels, and the bot's roles.
	at.addAgainst(3, "calls that read a guild", read, "per period")
	textChannels := d.textChannels()
	textChannels = textChannels[:min(len(textChannels), drifts)]
	// The drifts spread over two periods, so that they happen at all moments of a period.
	took := d.repairs(ctx, textChannels, 2*b.resync/time.Duration(len(textChannels)))
	unit := fmt.Sprintf("s, at a period of %s", b.resync)
	at.add("drift to repair without events, p50", quantile(took, 0.5), unit)
	at.add("drift to repair without events, p99", quantile(took, 0.99), unit)
}

func (d *simulated) readings(ctx context.Context, times int) (callsEach float64) {
	before := len(d.Requests())
	pollUntil(ctx, func() (complete bool, err error) {
		callsEach, complete = callsPerReading(d.Requests()[before:], times)
		return complete, nil
	})
	return callsEach
}

// callsPerReading returns the number of GET calls per reading of a guild. A reading lists the
// channels once. Late calls of the previous reading may be included, so the averages are rounded.
func callsPerReading(requests []discordtest.Request, times int) (callsEach float64, complete bool) {
	lists, calls := 0, map[string]int{}
	for _, r := range requests {
		if r.Method != http.MethodGet || strings.HasPrefix(r.Route, "GET /gateway") {
			continue
		}
		if r.Route == "GET /guilds/{guild_id}/channels" {
			if lists == times {
				for _, n := range calls {
					callsEach += math.Round(float64(n) / float64(times))
				}
				return callsEach, true
			}
			lists++
		}
		if lists > 0 {
			calls[r.Route]++
		}
	}
	return 0, false
}
