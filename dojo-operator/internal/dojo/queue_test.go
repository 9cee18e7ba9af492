// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/libs/manager/fairqueue"
)

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
		later         bool
	}{
		"the rollout has just finished": {with(1), with(2), ours, false},
		"the rollout continues":         {with(0), with(1), other, true},
		"the rollout finished long ago": {with(2), with(2), other, false},
		"the Deployment lacks a pod":    {with(2), with(1), other, false},
		"the Deployment became foreign": {with(1), &appsv1.Deployment{}, other, false},
		"the Deployment was foreign":    {&appsv1.Deployment{}, with(2), other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := priorityqueue.New[reconcile.Request]("dojo")
			defer queue.ShutDown()
			c.after.ResourceVersion = "2" // an update without a new version is a resync, which has a low priority
			queue.Add(other)
			handle.Update(t.Context(), event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}, queue)
			if first, _ := queue.Get(); first != c.want {
				t.Errorf("first comes %v, want %v", first, c.want)
			}
			if more := queue.Len(); more != 1 && !c.later || more != 0 && c.later {
				t.Errorf("%d more are in the queue", more)
			}
		})
	}
}

func TestOwnCreates(t *testing.T) {
	t.Parallel()
	child := &corev1.Service{ObjectMeta: written(childOf(dojotest.Dojo()))}
	foreign := &corev1.Service{ObjectMeta: childOf(dojotest.Dojo())}
	unowned := &corev1.Service{ObjectMeta: written(small())}
	mapped := func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{request("school", "tokyo")}
	}
	handle := ownCreates{handler.EnqueueRequestsFromMapFunc(mapped)}
	for name, c := range map[string]struct {
		event event.CreateEvent
		later bool
	}{
		"ours":                      {event.CreateEvent{Object: child}, true},
		"ours, in the initial list": {event.CreateEvent{Object: child, IsInInitialList: true}, false},
		"written by another client": {event.CreateEvent{Object: foreign}, false},
		"without an owner":          {event.CreateEvent{Object: unowned}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := fairqueue.New(t.Name(), workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
				defer queue.ShutDown()
				start := time.Now()
				handle.Create(t.Context(), c.event, queue)
				queue.Get()
				if waited := time.Since(start); (waited >= countsInterval) != c.later {
					t.Errorf("the request comes after %s", waited)
				}
			})
		})
	}
}
