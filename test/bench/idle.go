package main

import (
	"context"
	"time"
)

// idleTraffic counts what the operator asks for when nothing happens.
func (b *bench) idleTraffic(ctx context.Context, s *stage, at sheet) error {
	b.say("%s: doing nothing for %s", at.scenario, b.idle)
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
	at.addAgainst(0, "idle: writes", float64(t.writes())/minutes, "per minute")
	at.addAgainst(0, "idle: reads", float64(t.byClass[classRead])/minutes, "per minute")
	at.add("idle: Lease requests of leader election", float64(t.byClass[classLease])/minutes, "per minute")
	return nil
}
