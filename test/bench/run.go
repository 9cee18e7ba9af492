// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jutsu.com/operators/test/environment"
)

type bench struct {
	*options
	report   *report
	progress io.Writer
	began    time.Time
}

type part struct {
	name    string
	takes   time.Duration // roughly, on two cores
	measure func(context.Context) error
}

func run(ctx context.Context, o *options, progress io.Writer) (*report, error) {
	began := time.Now()
	var runs []*report
	for n := range o.runs {
		b := &bench{options: o, report: newReport(o), progress: progress, began: began}
		runs = append(runs, b.report)
		if o.runs > 1 {
			b.say("run %d of %d", n+1, o.runs)
		}
		if err := b.run(ctx, func() error { return mergeRuns(runs).save(o.out) }); err != nil {
			return mergeRuns(runs), err
		}
	}
	return mergeRuns(runs), nil
}

// run saves the report after each part, so that a failure does not lose earlier figures.
func (b *bench) run(ctx context.Context, save func() error) error {
	parts := slices.Concat(b.dojoParts(), b.discordParts())
	var left time.Duration
	for _, p := range parts {
		left += p.takes
	}
	for i, p := range parts {
		b.say("part %d of %d, %s; about %s left on two cores", i+1, len(parts), p.name, left.Round(time.Minute))
		if err := p.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		left -= p.takes
		if err := save(); err != nil {
			return err
		}
	}
	return nil
}

const (
	scenarioLoad     = "load"
	scenarioOne      = "one"
	scenarioIdle     = "idle"
	scenarioRotation = "rotation"
	scenarioRestart  = "restart"
	scenarioTakeover = "takeover"
	scenarioDirect   = "direct"
	scenarioMemory   = "memory"
	scenarioDiscord  = "discord"
	scenarioGuilds   = "guilds"
	scenarioRoles    = "roles"
	scenarioOutage   = "outage"
	scenarioLost     = "lost"
	scenarioResync   = "resync"
	scenarioAbuse    = "abuse"
)

var scenarios = []string{
	scenarioLoad, scenarioOne, scenarioIdle, scenarioRotation, scenarioRestart, scenarioTakeover, scenarioDirect,
	scenarioMemory,
	scenarioDiscord, scenarioGuilds, scenarioRoles, scenarioOutage, scenarioLost, scenarioResync,
	scenarioAbuse,
}

func (b *bench) wants(names ...string) bool {
	return b.only == "" || slices.ContainsFunc(strings.Split(b.only, ","),
		func(name string) bool { return slices.Contains(names, name) })
}

func (b *bench) dojoParts() []part {
	var all []part
	if b.wants(scenarioLoad, scenarioOne, scenarioIdle, scenarioRotation, scenarioRestart, scenarioTakeover,
		scenarioDirect) {
		for _, n := range b.dojos {
			all = append(all, part{
				fmt.Sprintf("%d Dojos", n), 50*time.Second + b.idle + time.Duration(n)*220*time.Millisecond,
				func(ctx context.Context) error { return b.withDojos(ctx, n) },
			})
		}
		if b.wants(scenarioTakeover) {
			all[len(all)-1].takes += time.Duration(b.repeat) * 40 * time.Second
		}
	}
	if b.wants(scenarioMemory) {
		all = append(all, part{
			"memory", time.Duration(b.repeat)*15*time.Second + time.Duration(b.secrets)*10*time.Millisecond,
			func(ctx context.Context) error {
				return b.onStage(ctx, environment.Dojo, nil,
					func(s *stage) { b.memory(ctx, s, s.sheet(b, scenarioMemory, b.secrets)) })
			},
		})
	}
	if b.wants(scenarioAbuse) {
		all = append(all, part{
			scenarioAbuse + " of Dojos", b.abuseTakes(3 * time.Second),
			func(ctx context.Context) error {
				return b.onStage(ctx, environment.Dojo, nil,
					func(s *stage) { b.abuseDojos(ctx, s, s.sheet(b, scenarioAbuse+" of Dojos", b.flood)) }, deployedAsIs)
			},
		})
	}
	return all
}

func (b *bench) abuseTakes(life time.Duration) time.Duration {
	return time.Minute + time.Duration(4*b.lives/livesAtOnce)*life + time.Duration(b.flood)*attackPace/2
}

// withDojos runs the scenarios in one cluster. load creates the Dojos, which stay Ready.
func (b *bench) withDojos(ctx context.Context, n int) error {
	var made []children
	if err := b.onStage(ctx, environment.Dojo, nil, func(s *stage) {
		for _, next := range []struct {
			name    string
			measure func(context.Context, *stage, sheet)
		}{
			{scenarioLoad, b.load}, {scenarioOne, b.oneBeside}, {scenarioIdle, b.idleTraffic}, {scenarioRotation, b.rotation},
			{scenarioRestart, b.restart}, {scenarioTakeover, b.takeover},
		} {
			repeated := next.name == scenarioTakeover && n != slices.Max(b.dojos) // the time of a takeover does not depend on n
			if next.name != scenarioLoad && !b.wants(next.name) || repeated {
				continue
			}
			next.measure(ctx, s, s.sheet(b, next.name, n))
		}
		if b.wants(scenarioDirect) {
			made = childrenOf(ctx, s, n)
		}
	}); err != nil {
		return err
	}
	if !b.wants(scenarioDirect) {
		return nil
	}
	return b.onStage(ctx, environment.Dojo, nil, func(s *stage) { b.direct(ctx, s, s.sheet(b, scenarioDirect, n), made) })
}

func (b *bench) discordParts() []part {
	var all []part
	add := func(name string, c crowd, more time.Duration, measure func(context.Context, *stage, sheet)) {
		all = append(all, part{
			fmt.Sprintf("%s, %d channels", name, c.total()),
			15*time.Second + time.Duration(c.least(c.calls()*float64(c.total())))*time.Second + more,
			func(ctx context.Context) error {
				return b.onStage(ctx, environment.Discord, &c, func(s *stage) { measure(ctx, s, s.sheet(b, name, c.total())) })
			},
		})
	}
	matrix := func(name string, c crowd) {
		add(name+", "+c.String(), c, 35*time.Second+b.idle, b.discord)
	}
	for _, webhooks := range b.webhooks {
		for _, latency := range b.latency {
			for _, n := range b.channels {
				if b.wants(scenarioDiscord) {
					matrix(scenarioDiscord, crowd{guilds: 1, channels: n, bots: 1, webhooks: webhooks, latency: latency})
				}
			}
			if b.wants(scenarioGuilds) {
				matrix(scenarioGuilds, crowd{guilds: b.guilds, channels: perGroup, bots: 1, webhooks: webhooks, latency: latency})
			}
		}
	}
	// Discord's rate limit applies to each bot, so with many bots the operator limits the speed.
	if b.wants(scenarioGuilds) {
		matrix(scenarioGuilds, crowd{guilds: b.guilds, channels: perGroup, bots: b.guilds, webhooks: true})
	}
	all = append(all, b.rolesParts()...)
	most := crowd{guilds: 1, channels: slices.Max(b.channels), bots: 1, webhooks: true}
	if b.wants(scenarioOutage) {
		add(scenarioOutage, most, b.outage+time.Minute, b.discordOutage)
	}
	if b.wants(scenarioLost) {
		for _, n := range []int{1, 10} {
			add(scenarioLost, crowd{guilds: 1, channels: n, bots: 1}, 40*time.Second, b.lost)
		}
	}
	if b.wants(scenarioResync) {
		most.webhooks = false
		add(scenarioResync, most, 8*b.resync, b.withoutGateway)
	}
	if b.wants(scenarioAbuse) {
		name, few := scenarioAbuse+" of channels", crowd{guilds: 1, channels: perGroup, bots: 1, webhooks: true}
		all = append(all, part{
			name, b.abuseTakes(time.Second),
			func(ctx context.Context) error {
				return b.onStage(ctx, environment.Discord, &few,
					func(s *stage) { b.abuseChannels(ctx, s, s.sheet(b, name, b.flood)) }, deployedAsIs)
			},
		})
	}
	return all
}

func (b *bench) rolesParts() []part {
	var all []part
	if !b.wants(scenarioRoles) {
		return nil
	}
	for _, latency := range b.latency {
		for _, n := range b.rolesEach {
			c := crowd{guilds: 1, bots: 1, latency: latency}
			name := fmt.Sprintf("%s, %d ms", scenarioRoles, latency.Milliseconds())
			all = append(all, part{
				fmt.Sprintf("%s, %d roles", name, n), 45*time.Second + b.idle + time.Duration(c.least(float64(n)))*time.Second,
				func(ctx context.Context) error {
					return b.onStage(ctx, environment.Discord, &c, func(s *stage) { b.roles(ctx, s, s.sheet(b, name, n)) })
				},
			})
		}
	}
	return all
}

func (s *stage) sheet(b *bench, scenario string, n int) sheet {
	s.scenario = scenario
	return sheet{b.report, scenario, n}
}

func (b *bench) profile(format string, args ...any) string {
	name := strings.NewReplacer(", ", "-", " ", "-").Replace(fmt.Sprintf(format, args...))
	return filepath.Join(filepath.Dir(b.out), "profiles", name)
}

func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, "%6.1f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}
