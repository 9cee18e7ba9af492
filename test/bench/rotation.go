// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func (b *bench) rotation(ctx context.Context, s *stage, at sheet) {
	b.say("%s: a new password for %d Dojos", at.scenario, at.n)
	var before appsv1.DeploymentList
	check(s.Admin.List(ctx, &before, client.InNamespace(namespace)))
	generation := map[string]int64{}
	for _, d := range before.Items {
		generation[d.Name] = d.Generation
	}
	watch := newStopwatch(ctx, s, &appsv1.Deployment{}, at.n, func(o client.Object) bool {
		return o.GetGeneration() > generation[o.GetName()] && rolledOut(o)
	})
	moment, cpu, apiServer := time.Now(), cpuSeconds(s.current().PID()), cpuSeconds(s.apiServerPID())
	var done map[string]time.Time
	s.current().profiled(ctx, b.profile("dojo-operator-rotation-%d", at.n), func() {
		check(s.Admin.Patch(ctx, credentials("second"), client.Merge))
		done = watch.await(ctx)
		at.add(apiServerCPU, cpuSeconds(s.apiServerPID())-apiServer, "s")
		s.awaitQuiet(ctx, b.quiet)
		at.add("operator's CPU time", cpuSeconds(s.current().PID())-cpu, "s")
	})
	began := map[string]time.Time{}
	for name := range done {
		began[name] = moment
	}
	at.addSpread("new password to all pods replaced", spreadOf(began, done))
	allReady(ctx, s)
	// Each Dojo needs two status writes (Progressing, Ready), and two child writes (Secret,
	// Deployment).
	addRequests(s, at, moment, requiredWrites{status: 2, child: 2})
}

func allReady(ctx context.Context, s *stage) {
	var dojos corev1api.DojoList
	check(s.Admin.List(ctx, &dojos, client.InNamespace(namespace)))
	for i := range dojos.Items {
		if !ready(&dojos.Items[i]) {
			check(fmt.Errorf("dojo %s is not Ready: %v", dojos.Items[i].Name, dojos.Items[i].Status.Conditions))
		}
	}
}
