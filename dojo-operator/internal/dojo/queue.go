// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
)

// finishedFirst reconciles finished rollouts first, and changes of pod counts later. Without it, if
// many Dojos are new, most of them would become Ready only when nearly all rollouts have finished.
type finishedFirst struct{ handler.EventHandler }

func (f finishedFirst) Update(
	ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	before, after := e.ObjectOld.(*appsv1.Deployment), e.ObjectNew.(*appsv1.Deployment)
	// The cache strips spec.replicas from Deployments of other owners.
	ours := before.Spec.Replicas != nil && after.Spec.Replicas != nil
	if q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok && ours {
		switch {
		case workload.Complete(after) && !workload.Complete(before):
			queue = prioritized{q}
		case workload.CountsAlone(before, after):
			queue = later{q}
		}
	}
	f.EventHandler.Update(ctx, e, queue)
}

// ownCreates delays the event of a child that the operator has created, so that one reconcile
// handles this event and the next event.
type ownCreates struct{ handler.EventHandler }

func (h ownCreates) Create(
	ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if ok && !e.IsInInitialList && ownership.ByDojo(e.Object) && apply.Written(ownership.FieldOwner, e.Object) {
		queue = later{q}
	}
	h.EventHandler.Create(ctx, e, queue)
}

type later struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func (l later) Add(r reconcile.Request) { l.AddAfter(r, countsInterval) }

type prioritized struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func (p prioritized) Add(r reconcile.Request) {
	p.AddWithOpts(priorityqueue.AddOpts{Priority: new(1)}, r)
}
