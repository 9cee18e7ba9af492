// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is a controller's queue that serves namespaces round-robin within each
// priority, so a namespace with ten thousand objects does not delay the others.
// controller-runtime's queue is first in, first out. In all other respects, the queue works as
// client-go's workqueue, except that, as in controller-runtime, the delay of an item ends when a
// worker receives the item.
package fairqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// RateLimiter sets the delays of items that failed.
type RateLimiter = workqueue.TypedRateLimiter[reconcile.Request]

type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	ready *due
	order *order
	limit RateLimiter
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &queue{}

// New returns a queue for the field NewQueue of controller.Options.
func New(controller string, limit RateLimiter) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	order := newOrder()
	ready := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: controller, Queue: order})
	due := &due{TypedInterface: ready, at: map[reconcile.Request]time.Time{}}
	due.delaying = workqueue.NewTypedDelayingQueueWithConfig(
		workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: controller, Queue: due})
	limiting := workqueue.NewTypedRateLimitingQueueWithConfig(limit,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{DelayingQueue: due.delaying})
	return &queue{limiting, due, order, limit}
}

func (q *queue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		after := o.After
		if o.RateLimited {
			if limit := q.limit.When(item); after == 0 || limit < after {
				after = limit
			}
		}
		q.order.setPriority(item, ptr.Deref(o.Priority, 0))
		if after > 0 {
			q.ready.addAfter(item, after)
		} else {
			q.ready.TypedInterface.Add(item)
		}
	}
}

func (q *queue) AddAfter(item reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

func (q *queue) AddRateLimited(item reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

func (q *queue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

func (q *queue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, shutdown = q.TypedRateLimitingInterface.Get()
	q.ready.forget(item)
	return item, q.order.handedOut(item), shutdown
}

func (q *queue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}
