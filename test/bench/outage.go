// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"time"

	"jutsu.com/operators/test/discordtest"
)

func (b *bench) discordOutage(ctx context.Context, s *stage, at sheet) {
	d := s.discord
	s.startLeader(ctx)
	moment := time.Now()
	_, watch := b.createChannels(ctx, s, d, at)
	pollUntil(ctx, func() (bool, error) { return len(d.textChannels()) >= at.n/2, nil })
	logged := size(s.current().Log())
	callCount := b.runOutage(ctx, d, at)
	lines := bytes.Count(must(os.ReadFile(s.current().Log()))[logged:], []byte("\n"))
	left := float64(d.total())*d.calls() - float64(d.made())
	back := time.Now()
	watch.await(ctx)
	at.add("return of Discord to all Ready", time.Since(back).Seconds(), "s")
	at.bound("return of Discord to all Ready", d.least(left))
	at.add("calls to Discord while it is away", float64(callCount)/b.outage.Seconds(), "per second")
	at.add("log lines while it is away", float64(lines)/float64(at.n), "per channel")
	at.addAgainst(0, "surplus channels on Discord", float64(len(d.textChannels())-at.n), "in all")
	at.addAgainst(0, "calls that Discord answers with 429", float64(d.refused(http.StatusTooManyRequests)), "in all")
	s.awaitQuiet(ctx, b.quiet)
	addChannelWrites(s, d, at, moment)
}

func size(file string) int64 { return must(os.Stat(file)).Size() }

// runOutage refuses every call with 502 at once, because such errors cause the most retries.
func (b *bench) runOutage(ctx context.Context, d *simulated, at sheet) (callCount int) {
	b.say("%s: Discord is away for %s", at.scenario, b.outage)
	before := d.callCount()
	back := d.Faults().Add(discordtest.Fault{Action: discordtest.FailBefore(http.StatusBadGateway)})
	d.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
	d.Gateway().Drop(0)
	sleep(ctx, b.outage)
	callCount = d.callCount() - before
	d.Gateway().SetFaults(discordtest.GatewayFaults{})
	back()
	return callCount
}

func (d *simulated) made() int {
	n := len(d.textChannels())
	for _, guild := range d.guilds {
		n += len(d.Guild(guild).Webhooks)
	}
	return n
}
