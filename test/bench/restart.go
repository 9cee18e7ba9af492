package main

import (
	"context"
	"time"
)

// restart stops the operator and starts it again, and counts what the new one does although nothing has changed.
func (b *bench) restart(ctx context.Context, s *stage) error {
	b.say("restart: stopping the operator and starting it again")
	before, err := s.holder(ctx)
	if err != nil {
		return err
	}
	if err := s.processes[len(s.processes)-1].Stop(grace); err != nil {
		return err
	}
	moment := time.Now()
	process, err := s.startOperator(ctx)
	if err != nil {
		return err
	}
	b.report.add("restart", "start to ready", time.Since(moment).Seconds(), "s")
	if err := s.awaitLeader(ctx, before); err != nil {
		return err
	}
	b.report.add("restart", "start to leading", time.Since(moment).Seconds(), "s")
	if err := s.awaitQuiet(ctx, b.quiet); err != nil {
		return err
	}
	b.addMemory("restart", process)
	return b.addRequests(s, "restart", moment, 1, "in all")
}
