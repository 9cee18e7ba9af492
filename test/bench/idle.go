// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

func (b *bench) idleTraffic(ctx context.Context, s *stage, at sheet) {
	b.say("%s: doing nothing for %s", at.scenario, b.idle)
	moment, cpu := time.Now(), cpuSeconds(s.current().PID())
	sleep(ctx, b.idle)
	minutes := time.Since(moment).Minutes()
	requests := must(s.audit.since(moment))
	t := count(requests)
	at.add("idle: operator's CPU time", (cpuSeconds(s.current().PID())-cpu)/minutes, "s per minute")
	at.addAgainst(0, "idle: writes", float64(t.writes())/minutes, "per minute")
	at.addAgainst(0, "idle: reads", float64(t.byClass[classRead])/minutes, "per minute")
	at.add("idle: Lease requests of leader election", float64(t.byClass[classLease])/minutes, "per minute")
}
