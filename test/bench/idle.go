package main

import (
	"context"
	"time"
)

// idleTraffic counts what the operator asks for when nothing happens.
func (b *bench) idleTraffic(ctx context.Context, s *stage) error {
	b.say("idle: doing nothing for %s", b.idle)
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
	b.report.add("idle", "writes", float64(t.byClass[classStatus]+t.byClass[classChild]+t.byClass[classEvent])/minutes, "per minute")
	b.report.add("idle", "reads", float64(t.byClass[classRead])/minutes, "per minute")
	b.report.add("idle", "Lease requests of leader election", float64(t.byClass[classLease])/minutes, "per minute")
	return nil
}
