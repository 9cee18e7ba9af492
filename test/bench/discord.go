// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/environment"
)

const (
	// Discord allows 50 calls per second. The operator reserves a fifth for creates and deletes,
	// which leaves 40. With driftPause, repairs need 25.
	drifts     = 100
	driftPause = 40 * time.Millisecond

	channelToReady = "channel created to Ready"
)

func (b *bench) discord(ctx context.Context, s *stage, at sheet) {
	d := s.discord
	p := s.startLeader(ctx)
	before := p.liveHeap(ctx)
	moment, cpu := time.Now(), cpuSeconds(p.PID())
	p.profiled(ctx, b.profile("discord-operator-%d-%s", at.n, d.crowd), func() { b.loadDiscord(ctx, s, d, at) })
	at.add("operator's CPU time", cpuSeconds(p.PID())-cpu, "s")
	addMemory(ctx, at, p, before, "channel")
	addDiscordCosts(ctx, s, d, at, moment)
	callCount := d.callCount()
	b.idleTraffic(ctx, s, at)
	at.addAgainst(0, "idle: calls to Discord", float64(d.callCount()-callCount)/b.idle.Hours(), "per hour")
	b.drift(ctx, d, at)
	b.restartDiscord(ctx, s, d, at)
}

func (b *bench) loadDiscord(ctx context.Context, s *stage, d *simulated, at sheet) {
	began, watch := b.createChannels(ctx, s, d, at)
	done := watch.await(ctx)
	at.addSpread(channelToReady, spreadOf(began, done))
	at.bound(channelToReady+firstToLast, d.least(d.calls()*float64(at.n)))
	s.awaitQuiet(ctx, b.quiet)
}

func (b *bench) createChannels(ctx context.Context, s *stage, d *simulated, at sheet) (map[string]time.Time,
	*stopwatch) {
	b.say("%s: creating %d channels", at.scenario, at.n)
	watch := newStopwatch(ctx, s, &v1alpha1.DiscordChannel{}, at.n, channelReady)
	for _, o := range d.parents() {
		check(s.Admin.Create(ctx, o))
	}
	began := createAll(ctx, at.n, func(ctx context.Context, i int) (string, error) {
		c := d.channel(i)
		return c.Name, s.Admin.Create(ctx, c)
	})
	return began, watch
}

// addDiscordCosts does not count the creates of the groups' categories.
func addDiscordCosts(ctx context.Context, s *stage, d *simulated, at sheet, moment time.Time) {
	creates, hooks, others := 0, 0, 0
	for route, n := range d.RequestCounts() {
		switch route {
		case "POST /guilds/{guild_id}/channels":
			creates = n - d.groups()*d.crowd.guilds
		case "POST /channels/{channel_id}/webhooks":
			hooks = n
		default:
			others += n
		}
	}
	at.addAgainst(d.calls(), "calls to Discord", float64(creates+hooks)/float64(at.n), "per channel")
	at.add("other calls to Discord", float64(others), "in all")
	at.addAgainst(0, "calls that Discord answers with 429", float64(d.refused(http.StatusTooManyRequests)), "in all")
	addChannelWrites(s, d, at, moment)
	now := s.scrape(ctx, s.current())
	at.add("reconciles", now.total(metricReconciles, "controller", "discordchannel")/float64(at.n), "per channel")
}

// addChannelWrites adds the writes per channel. Their lower bounds are one write for the finalizer,
// one for the status, and one for a webhook's Secret.
func addChannelWrites(s *stage, d *simulated, at sheet, moment time.Time) {
	requests := must(s.audit.since(moment))
	t := count(slices.DeleteFunc(requests, func(r *request) bool {
		return !strings.HasPrefix(r.resource(), "discordchannels") && r.Object.Resource != "secrets"
	}))
	each := func(n int) float64 { return float64(n) / float64(at.n) }
	at.addAgainst(1, "intents (finalizers)", each(t.byClass[classIntent]), "per channel")
	at.addAgainst(1, "status writes", each(t.byClass[classStatus]), "per channel")
	at.addAgainst(d.calls()-1, "Secrets written", each(t.byClass[classChild]), "per channel")
	addWasted(at, t)
}

func (b *bench) drift(ctx context.Context, d *simulated, at sheet) {
	b.say("%s: renaming channels by hand", at.scenario)
	textChannels := d.textChannels()
	took := d.repairs(ctx, textChannels[:min(len(textChannels), drifts)], driftPause)
	at.add("drift to repair by event, p50", quantile(took, 0.5)*1000, "ms")
	at.add("drift to repair by event, p99", quantile(took, 0.99)*1000, "ms")
}

func (b *bench) restartDiscord(ctx context.Context, s *stage, d *simulated, at sheet) {
	s.awaitQuiet(ctx, b.quiet)
	check(s.current().Stop(environment.Grace))
	before, moment := d.RequestCounts(), time.Now()
	s.startLeader(ctx)
	s.awaitQuiet(ctx, b.quiet)
	requests := must(s.audit.since(moment))
	at.add("restart: start to last request", lastOf(requests, moment).Sub(moment).Seconds(), "s")
	t := count(requests)
	at.addAgainst(0, "restart: writes", float64(t.writes()-t.byClass[classEvent]), "in all")
	after := d.RequestCounts()
	for _, route := range slices.Sorted(maps.Keys(after)) {
		if n := after[route] - before[route]; n > 0 {
			at.add("restart: calls to Discord: "+route, float64(n), "in all")
		}
	}
}
