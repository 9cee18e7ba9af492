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

// unheard takes the Gateway away, so that no change is announced, and measures what reading costs
// instead, and how soon drift is corrected.
func (b *bench) unheard(ctx context.Context, s *stage, at sheet) {
	d := s.discord
	s.args = append(s.args, "--resync-period="+b.resync.String())
	s.startLeader(ctx)
	_, watch := b.createChannels(ctx, s, d, at)
	watch.await(ctx)
	d.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
	d.Gateway().Drop(0)
	b.say("%s: reading every %s instead of hearing from the Gateway", at.scenario, b.resync)
	read := d.readings(ctx, 3)
	// the guild, its channels, and which roles the bot has
	at.addAgainst(3, "calls that read a guild", read, "per period")
	texts := d.texts()
	texts = texts[:min(len(texts), drifts)]
	// in the course of two periods, so that all moments of one count the same
	took := d.repairs(ctx, texts, 2*b.resync/time.Duration(len(texts)))
	unit := fmt.Sprintf("s, at a period of %s", b.resync)
	at.add("drift to repair without events, p50", quantile(took, 0.5), unit)
	at.add("drift to repair without events, p99", quantile(took, 0.99), unit)
}

// readings waits until a guild was read so often, and returns how many calls each reading took.
func (d *simulated) readings(ctx context.Context, times int) (callsEach float64) {
	before := len(d.Requests())
	until(ctx, func() (complete bool, err error) {
		callsEach, complete = callsPerReading(d.Requests()[before:], times)
		return complete, nil
	})
	return callsEach
}

// callsPerReading counts the calls of so many whole readings of a guild, but for those about the
// Gateway itself. A reading has one list of channels, so between one list and a later one are as many
// calls of each kind as there are readings; one more or less where a reconcile that a reading has
// caused asks for the bot's roles only after the next list.
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
