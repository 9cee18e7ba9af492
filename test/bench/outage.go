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

// away takes Discord away when half of the channels are there, for a while, and measures how the
// operator bears it and how soon it is done afterwards.
func (b *bench) away(ctx context.Context, s *stage, at sheet) {
	d := s.discord
	s.startLeader(ctx)
	moment := time.Now()
	_, watch := b.createChannels(ctx, s, d, at)
	until(ctx, func() (bool, error) { return len(d.texts()) >= at.n/2, nil })
	logged := size(s.current().Log())
	asked := b.takeAway(ctx, d, at)
	lines := bytes.Count(must(os.ReadFile(s.current().Log()))[logged:], []byte("\n"))
	left := float64(d.total())*d.calls() - float64(d.made())
	back := time.Now()
	watch.await(ctx)
	at.add("return of Discord to all Ready", time.Since(back).Seconds(), "s")
	at.bound("return of Discord to all Ready", d.least(left))
	at.add("calls to Discord while it is away", float64(asked)/b.outage.Seconds(), "per second")
	at.add("log lines while it is away", float64(lines)/float64(at.n), "per channel")
	at.addAgainst(0, "channels on Discord too many", float64(len(d.texts())-at.n), "in all")
	at.addAgainst(0, "calls that Discord answers with 429", float64(d.refused(http.StatusTooManyRequests)), "in all")
	s.awaitQuiet(ctx, b.quiet)
	addChannelWrites(s, d, at, moment)
}

func size(file string) int64 { return must(os.Stat(file)).Size() }

// takeAway makes Discord answer 502 at once, the worst for it when hundreds of objects ask, and its
// Gateway refuse connections for as long as the flag says, and returns how often it was called
// meanwhile.
func (b *bench) takeAway(ctx context.Context, d *simulated, at sheet) (asked int) {
	b.say("%s: Discord is away for %s", at.scenario, b.outage)
	before := d.asked()
	back := d.Faults().Add(discordtest.Fault{Action: discordtest.FailBefore(http.StatusBadGateway)})
	d.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
	d.Gateway().Drop(0)
	sleep(ctx, b.outage)
	asked = d.asked() - before
	d.Gateway().SetFaults(discordtest.GatewayFaults{})
	back()
	return asked
}

// made is how many channels and webhooks are on Discord.
func (d *simulated) made() int {
	n := len(d.texts())
	for _, guild := range d.guilds {
		n += len(d.Guild(guild).Webhooks)
	}
	return n
}
