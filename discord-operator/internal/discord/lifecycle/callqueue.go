// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/libs/discordclient"
)

// CallQueue enqueues an object of a controller when Discord's limit of calls of all kinds lets it make its calls.
// It is a source of that controller.
type CallQueue struct {
	queue priorityqueue.PriorityQueue[reconcile.Request]
}

// Start implements source.Source. The queue is one that [Options] makes.
func (c *CallQueue) Start(_ context.Context, q queue) error {
	queue, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		return fmt.Errorf("a queue without priorities: %T", q)
	}
	c.queue = queue
	return nil
}

// Caller returns the context for a number of calls of an object. When the limit lets them through, the object is
// reconciled before all others: its reservation lasts a second.
func (c *CallQueue) Caller(ctx context.Context, o client.Object, calls int) context.Context {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	notifyReady := func() {
		if c.queue != nil {
			c.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(1)}, request)
		}
	}
	return discordclient.WithCaller(ctx, string(o.GetUID()), calls, notifyReady)
}
