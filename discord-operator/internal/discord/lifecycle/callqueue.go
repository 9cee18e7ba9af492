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

// CallQueue is a source that enqueues objects when Discord's global rate limit admits their calls.
type CallQueue struct {
	queue priorityqueue.PriorityQueue[reconcile.Request]
}

// Start implements source.Source. q must be a priority queue, such as the queue of [Options].
func (c *CallQueue) Start(_ context.Context, q queue) error {
	queue, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		return fmt.Errorf("a queue without priorities: %T", q)
	}
	c.queue = queue
	return nil
}

// Caller returns the context for an object's calls. When the rate limit admits the calls, the
// object has priority in the queue.
func (c *CallQueue) Caller(ctx context.Context, o client.Object, calls int) context.Context {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	notifyReady := func() {
		if c.queue != nil {
			c.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(1)}, request)
		}
	}
	return discordclient.WithCaller(ctx, string(o.GetUID()), calls, notifyReady)
}
