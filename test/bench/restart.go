// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"jutsu.com/operators/test/environment"
)

func (b *bench) restart(ctx context.Context, s *stage, at sheet) {
	b.say("%s: stopping the operator and starting it again", at.scenario)
	before := must(s.operator.Leader(ctx, s.Admin))
	check(s.current().Stop(environment.Grace))
	moment := time.Now()
	p := s.startProcess(ctx)
	at.add("start to ready", time.Since(moment).Seconds(), "s")
	s.awaitLeader(ctx, before)
	at.add("start to leading", time.Since(moment).Seconds(), "s")
	s.awaitQuiet(ctx, b.quiet)
	requests := must(s.audit.since(moment))
	at.add("start to last request", lastOf(requests, moment).Sub(moment).Seconds(), "s")
	t := count(requests)
	at.addAgainst(0, "status writes", float64(t.byClass[classStatus]), "in all")
	at.addAgainst(0, "child writes", float64(t.byClass[classChild]), "in all")
	at.add("reads", float64(t.byClass[classRead]), "in all")
	addWasted(at, t)
	at.add("operator's CPU time", cpuSeconds(p.PID()), "s")
	addResident(at, p)
}

func lastOf(requests []*request, moment time.Time) time.Time {
	for _, r := range requests {
		if r.class() != classLease && r.Received.After(moment) {
			moment = r.Received
		}
	}
	return moment
}
