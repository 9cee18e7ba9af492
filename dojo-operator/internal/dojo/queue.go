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

	"jutsu.com/operators/dojo-operator/internal/workload"
)

// finishedFirst handles events of Deployments as the handler in it does, but a Dojo whose rollout
// has just finished is reconciled before all others: its status is all that is left to do. Of many
// Dojos that are created at once the first are Ready while the last have yet to begin; first come,
// first served, nearly all would become Ready at the very end.
type finishedFirst struct{ handler.EventHandler }

// Update implements [handler.EventHandler].
func (f finishedFirst) Update(
	ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	before, after := e.ObjectOld.(*appsv1.Deployment), e.ObjectNew.(*appsv1.Deployment)
	ours := before.Spec.Replicas != nil && after.Spec.Replicas != nil // of the Deployments of others nothing is kept
	finished := ours && workload.Complete(after) && !workload.Complete(before)
	if q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok && finished {
		queue = prioritized{q}
	}
	f.EventHandler.Update(ctx, e, queue)
}

// prioritized adds requests before those of normal priority.
type prioritized struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func (p prioritized) Add(r reconcile.Request) {
	p.AddWithOpts(priorityqueue.AddOpts{Priority: new(1)}, r)
}
