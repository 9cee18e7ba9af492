package main

import (
	"context"
	"time"

	"jutsu.com/operators/test/environment"
)

// restart stops the operator and starts it again, and counts what the new one does although nothing
// has changed.
func (b *bench) restart(ctx context.Context, s *stage, at sheet) error {
	b.say("%s: stopping the operator and starting it again", at.scenario)
	before, err := s.operator.Leader(ctx, s.Admin)
	if err != nil {
		return err
	}
	if err := s.current().Stop(environment.Grace); err != nil {
		return err
	}
	moment := time.Now()
	p, err := s.startProcess(ctx)
	if err != nil {
		return err
	}
	at.add("start to ready", time.Since(moment).Seconds(), "s")
	if err := s.awaitLeader(ctx, before); err != nil {
		return err
	}
	at.add("start to leading", time.Since(moment).Seconds(), "s")
	if err := s.awaitQuiet(ctx, b.quiet); err != nil {
		return err
	}
	requests, err := s.audit.since(moment)
	if err != nil {
		return err
	}
	at.add("start to last request", lastOf(requests, moment).Sub(moment).Seconds(), "s")
	t := count(requests)
	at.addAgainst(0, "status writes", float64(t.byClass[classStatus]), "in all")
	at.addAgainst(0, "child writes", float64(t.byClass[classChild]), "in all")
	at.add("reads", float64(t.byClass[classRead]), "in all")
	addWasted(at, t)
	addResident(at, p)
	return nil
}

// lastOf is when the last request other than leader election was received; the moment where there
// was none.
func lastOf(requests []*request, moment time.Time) time.Time {
	for _, r := range requests {
		if r.class() != classLease && r.Received.After(moment) {
			moment = r.Received
		}
	}
	return moment
}
