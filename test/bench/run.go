package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/test/internal/operator"
)

// bench is one run of all scenarios.
type bench struct {
	*options
	report   *report
	progress io.Writer
	began    time.Time
}

// run measures everything and tells on progress how far it is.
func run(ctx context.Context, o *options, progress io.Writer) (*report, error) {
	log.SetLogger(logr.Discard()) // of the libraries; what matters comes back as an error
	b := &bench{options: o, report: newReport(o), progress: progress, began: time.Now()}
	b.say("%d Dojos, %d unrelated Secrets, %d channels; all scenarios together take about %s", o.dojos, o.secrets, o.channels, b.estimate().Round(time.Minute))

	for _, measure := range []func(context.Context) error{b.withDojos, b.withoutDojos, b.onDiscord} {
		if err := measure(ctx); err != nil {
			return nil, err
		}
	}
	return b.report, nil
}

// withDojos runs the scenarios that need many Dojos, and what they are compared with.
func (b *bench) withDojos(ctx context.Context) error {
	if !b.wants("load", "idle", "rotation", "restart", "takeover", "direct") {
		return nil
	}
	var made []children
	if err := b.onStage(ctx, operator.Dojo, func(s *stage) (err error) {
		if made, err = b.load(ctx, s); err != nil {
			return fmt.Errorf("load: %w", err)
		}
		for _, next := range []struct {
			name    string
			measure scenario
		}{{"idle", b.idleTraffic}, {"rotation", b.rotation}, {"restart", b.restart}, {"takeover", b.takeover}} {
			if !b.wants(next.name) {
				continue
			}
			if err := next.measure(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", next.name, err)
			}
		}
		return nil
	}); err != nil || !b.wants("direct") {
		return err
	}
	return b.onStage(ctx, operator.Dojo, func(s *stage) error {
		if err := b.direct(ctx, s, made); err != nil {
			return fmt.Errorf("direct: %w", err)
		}
		return nil
	})
}

// withoutDojos runs the scenarios that are about everything else in a cluster.
func (b *bench) withoutDojos(ctx context.Context) error {
	if !b.wants("memory") {
		return nil
	}
	return b.onStage(ctx, operator.Dojo, func(s *stage) error {
		if err := b.memory(ctx, s); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		return nil
	})
}

// onDiscord runs the scenario of the discord-operator, whose Discord is the simulated one, in this very process.
func (b *bench) onDiscord(ctx context.Context) error {
	if !b.wants("discord") {
		return nil
	}
	return b.onStage(ctx, operator.Discord, func(s *stage) error {
		if err := b.discord(ctx, s); err != nil {
			return fmt.Errorf("discord: %w", err)
		}
		return nil
	})
}

// scenario measures one thing on a stage on which all Dojos are settled, and leaves it so.
type scenario func(ctx context.Context, s *stage) error

// wants reports whether any of the named scenarios is to be run.
func (b *bench) wants(names ...string) bool {
	return b.only == "" || slices.ContainsFunc(strings.Split(b.only, ","), func(name string) bool { return slices.Contains(names, name) })
}

// onStage starts a cluster for the scenarios in measure, and ends it.
func (b *bench) onStage(ctx context.Context, what operator.Operator, measure func(*stage) error) error {
	s, err := newStage(ctx, what, b.options, b.progress)
	if err != nil {
		return err
	}
	defer s.close()
	return measure(s)
}

// estimate is how long the whole takes on two cores.
func (b *bench) estimate() time.Duration {
	return b.idle + 2*time.Minute + time.Duration(b.dojos)*400*time.Millisecond + time.Duration(b.repeat)*45*time.Second
}

func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, "%6.1f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}
