package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
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
	b.say("%d Dojos, %d unrelated Secrets; this takes about %s", o.dojos, o.secrets, b.estimate().Round(time.Minute))

	var made []children
	err := b.onStage(ctx, func(s *stage) (err error) {
		if made, err = b.load(ctx, s); err != nil {
			return fmt.Errorf("load: %w", err)
		}
		for _, next := range []scenario{b.idleTraffic, b.rotation, b.restart, b.takeover} {
			if err := next(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := b.onStage(ctx, func(s *stage) error { return b.direct(ctx, s, made) }); err != nil {
		return nil, fmt.Errorf("direct: %w", err)
	}
	if err := b.onStage(ctx, func(s *stage) error { return b.memory(ctx, s) }); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return b.report, nil
}

// scenario measures one thing on a stage on which all Dojos are settled, and leaves it so.
type scenario func(ctx context.Context, s *stage) error

// onStage starts a cluster for the scenarios in measure, and ends it.
func (b *bench) onStage(ctx context.Context, measure func(*stage) error) error {
	s, err := newStage(ctx, b.progress)
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
