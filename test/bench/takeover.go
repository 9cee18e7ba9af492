// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func (b *bench) takeover(ctx context.Context, s *stage, at sheet) {
	for _, how := range []struct {
		name string
		end  func(*process) error
	}{
		{"SIGTERM", func(p *process) error { return p.Signal(syscall.SIGTERM) }},
		{"SIGKILL", func(p *process) error { return p.Signal(syscall.SIGKILL) }},
	} {
		var leads, acts []float64
		for range b.repeat {
			b.say("%s: %s to the leader of two", at.scenario, how.name)
			lead, act := s.takeover(ctx, how.end, b.quiet)
			leads, acts = append(leads, lead), append(acts, act)
		}
		at.add(how.name+" to the other leads, median", quantile(leads, 0.5), "s")
		at.add(how.name+" to the other leads, longest", quantile(leads, 1), "s")
		at.add(how.name+" to the other has acted, median", quantile(acts, 0.5), "s")
		at.add(how.name+" to the other has acted, longest", quantile(acts, 1), "s")
	}
}

// takeover returns the seconds until the second process leads, and the seconds until that process
// has reconciled a change.
func (s *stage) takeover(ctx context.Context, end func(*process) error, quiet time.Duration) (leads, acts float64) {
	leader := s.current()
	before := must(s.operator.Leader(ctx, s.Admin))
	s.startProcess(ctx)
	s.awaitQuiet(ctx, time.Second) // time for the new process to fill its cache
	moment := time.Now()
	check(end(leader))
	<-leader.Exited()
	changed := s.touch(ctx)
	s.awaitLeader(ctx, before)
	leads = time.Since(moment).Seconds()
	pollUntil(ctx, func() (bool, error) {
		err := s.Admin.Get(ctx, client.ObjectKeyFromObject(changed), changed)
		return changed.Status.ObservedGeneration == changed.Generation, err
	})
	acts = time.Since(moment).Seconds()
	s.awaitQuiet(ctx, quiet)
	return leads, acts
}

func (s *stage) touch(ctx context.Context) *corev1api.Dojo {
	d := dojo(0)
	check(s.Admin.Get(ctx, client.ObjectKeyFromObject(d), d))
	before := d.DeepCopy()
	d.Spec.Title = fmt.Sprintf("Bench %d", d.Generation)
	check(s.Admin.Patch(ctx, d, client.MergeFrom(before)))
	return d
}
