// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/libs/discordclient"
)

// Line brings the objects of a controller back when their turn has come in the line for Discord's limit of
// calls of all kinds. It is a source of that controller.
type Line struct {
	queue priorityqueue.PriorityQueue[reconcile.Request]
}

// Start implements source.Source. The queue is one that [Options] makes.
func (l *Line) Start(_ context.Context, q queue) error {
	queue, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		return fmt.Errorf("a queue without priorities: %T", q)
	}
	l.queue = queue
	return nil
}

// Caller returns the context for the calls of an object, which is about to make so many. When its turn has come
// the object is reconciled before all others: its place is kept for a second.
func (l *Line) Caller(ctx context.Context, o client.Object, calls int) context.Context {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	turn := func() {
		if l.queue != nil {
			l.queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(1)}, request)
		}
	}
	return discordclient.WithCaller(ctx, string(o.GetUID()), calls, turn)
}
