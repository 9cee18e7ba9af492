package dojo

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ahead handles a Deployment's events as the handler in it does, but lets a Dojo whose rollout has just ended go before all that wait: its
// status is all that is left to do. Of many Dojos that are made at once the first are Ready while the last have yet to begin; first come,
// first served, nearly all of them would become Ready at the very end.
type ahead struct{ handler.EventHandler }

// Update implements [handler.EventHandler].
func (a ahead) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, after := e.ObjectOld.(*appsv1.Deployment), e.ObjectNew.(*appsv1.Deployment)
	known := before.Spec.Replicas != nil && after.Spec.Replicas != nil // of the Deployments of others nothing is kept
	if q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok && known && complete(after) && !complete(before) {
		queue = urgent{q}
	}
	a.EventHandler.Update(ctx, e, queue)
}

// urgent adds requests before those that are not.
type urgent struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func (u urgent) Add(r reconcile.Request) {
	u.AddWithOpts(priorityqueue.AddOpts{Priority: new(1)}, r)
}
