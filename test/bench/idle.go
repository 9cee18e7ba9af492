package main

import (
	"context"
	"time"
)

// idleTraffic counts what the operator asks for when nothing happens.
func (b *bench) idleTraffic(ctx context.Context, s *stage) error {
	return b.idleness(ctx, s, "idle", "")
}

// idleness reports it under a scenario, each name with the prefix.
func (b *bench) idleness(ctx context.Context, s *stage, scenario, prefix string) error {
	b.say(scenario+": doing nothing for %s", b.idle)
	moment := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.idle):
	}
	minutes := time.Since(moment).Minutes()
	requests, err := s.audit.since(moment)
	if err != nil {
		return err
	}
	t := count(requests)
	writes := t.byClass[classStatus] + t.byClass[classIntent] + t.byClass[classChild] + t.byClass[classEvent]
	b.report.add(scenario, prefix+"writes", float64(writes)/minutes, "per minute")
	b.report.add(scenario, prefix+"reads", float64(t.byClass[classRead])/minutes, "per minute")
	b.report.add(scenario, prefix+"Lease requests of leader election", float64(t.byClass[classLease])/minutes, "per minute")
	return nil
}
