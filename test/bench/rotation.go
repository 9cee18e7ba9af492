package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// rotation changes the database password of all Dojos at once and waits until all their pods have
// been replaced.
func (b *bench) rotation(ctx context.Context, s *stage, at sheet) error {
	b.say("%s: a new password for %d Dojos", at.scenario, at.n)
	var before appsv1.DeploymentList
	if err := s.Admin.List(ctx, &before, client.InNamespace(namespace)); err != nil {
		return err
	}
	generation := map[string]int64{}
	for _, d := range before.Items {
		generation[d.Name] = d.Generation
	}
	watch, err := newStopwatch(ctx, s, &appsv1.Deployment{}, at.n, func(o client.Object) bool {
		return o.GetGeneration() > generation[o.GetName()] && rolledOut(o)
	})
	if err != nil {
		return err
	}
	moment := time.Now()
	if err := s.Admin.Patch(ctx, credentials("second"), client.Merge); err != nil {
		return err
	}
	done, err := watch.await(ctx)
	if err != nil {
		return err
	}
	began := map[string]time.Time{}
	for name := range done {
		began[name] = moment
	}
	at.addSpread("new password to all pods replaced", spreadOf(began, done))
	if err := s.awaitQuiet(ctx, b.quiet); err != nil {
		return err
	}
	if err := allReady(ctx, s); err != nil {
		return err
	}
	return addRequests(s, at, moment, needs{status: 2, child: 2}) // Progressing and Ready; the Secret and the Deployment
}

// allReady checks that all Dojos are Ready.
func allReady(ctx context.Context, s *stage) error {
	var dojos corev1api.DojoList
	if err := s.Admin.List(ctx, &dojos, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range dojos.Items {
		if !ready(&dojos.Items[i]) {
			return fmt.Errorf("dojo %s is not Ready: %v", dojos.Items[i].Name, dojos.Items[i].Status.Conditions)
		}
	}
	return nil
}
