// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is a controller's queue in which namespaces take turns: one with ten thousand
// objects to reconcile does not keep another one waiting for all of them.
//
// controller-runtime's own priority queue is first in, first out within a priority. This one hands out
// the item of the highest priority, and among equals that of the namespace whose turn it is. What else
// a queue does (each item once, one worker for an item, delays, back-off, metrics) is client-go's
// workqueue, which takes an order of its items (workqueue.TypedQueueConfig.Queue). As in
// controller-runtime's, an item that waits for a time and is handed out before that has waited enough: the
// reconcile says whether, and when, it is to come again.
package fairqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// RateLimiter says when an item that failed is due again.
type RateLimiter = workqueue.TypedRateLimiter[reconcile.Request]

type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	ready *due
	order *order
	limit RateLimiter
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &queue{}

// New makes a queue. It is a NewQueue of controller.Options.
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

// AddWithOpts adds items with a priority, 0 by default, at once or after a while.
func (q *queue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		after := o.After
		if o.RateLimited {
			if limit := q.limit.When(item); after == 0 || limit < after {
				after = limit
			}
		}
		q.order.want(item, ptr.Deref(o.Priority, 0))
		if after > 0 {
			q.ready.addAfter(item, after)
		} else {
			q.ready.TypedInterface.Add(item)
		}
	}
}

// AddAfter adds an item after a while.
func (q *queue) AddAfter(item reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

// AddRateLimited adds an item when it is due again after a failure.
func (q *queue) AddRateLimited(item reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// Add adds an item at once.
func (q *queue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// GetWithPriority waits for the next item.
func (q *queue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, shutdown = q.TypedRateLimitingInterface.Get()
	q.ready.forget(item)
	return item, q.order.handedOut(item), shutdown
}

// Get waits for the next item.
func (q *queue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}
