// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A Deployment changes while another Dojo is in the queue.
func TestFinishedFirst(t *testing.T) {
	t.Parallel()
	with := func(available int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			Spec:   appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status: appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: available},
		}
	}
	ours, other := request("school", "tokyo"), request("school", "kyoto")
	mapped := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{ours} }
	handle := finishedFirst{handler.EnqueueRequestsFromMapFunc(mapped)}
	for name, c := range map[string]struct {
		before, after *appsv1.Deployment
		want          reconcile.Request
	}{
		"its rollout has finished":      {with(1), with(2), ours},
		"its rollout continues":         {with(0), with(1), other},
		"its rollout finished long ago": {with(2), with(2), other},
		"it lacks a pod":                {with(2), with(1), other},
		"it became foreign":             {with(1), &appsv1.Deployment{}, other},
		"it was foreign":                {&appsv1.Deployment{}, with(2), other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := priorityqueue.New[reconcile.Request]("dojo")
			defer queue.ShutDown()
			c.after.ResourceVersion = "2" // an update without a change is a resync, which comes last
			queue.Add(other)
			handle.Update(t.Context(), event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}, queue)
			if first, _ := queue.Get(); first != c.want {
				t.Errorf("first comes %v, want %v", first, c.want)
			}
			if queue.Len() != 1 {
				t.Errorf("%d more are in the queue, want one", queue.Len())
			}
		})
	}
}
