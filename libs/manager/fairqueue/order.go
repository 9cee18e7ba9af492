// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// order sorts the ready items of client-go's workqueue. Call setPriority before you add an item.
type order struct {
	mu      sync.Mutex
	wanted  map[reconcile.Request]int // priority that the next Push uses, of items that are not queued
	queued  map[reconcile.Request]int // priority in the queue
	running map[reconcile.Request]int // priority of an item that a worker processes
	levels  map[int]*level            // the keys are priorities; each level has items
}

func newOrder() *order {
	return &order{
		wanted: map[reconcile.Request]int{}, queued: map[reconcile.Request]int{},
		running: map[reconcile.Request]int{}, levels: map[int]*level{},
	}
}

// setPriority raises the priority of an item. A queued item gets a second entry, and Pop skips the
// entry of lower priority.
func (o *order) setPriority(item reconcile.Request, priority int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if queued, ok := o.queued[item]; ok {
		if priority > queued {
			o.push(item, priority)
		}
	} else if before, ok := o.wanted[item]; !ok || priority > before {
		o.wanted[item] = priority
	}
}

func (o *order) Push(item reconcile.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(item, o.wanted[item])
	delete(o.wanted, item)
}

// Touch does nothing: setPriority has already raised the priority.
func (o *order) Touch(reconcile.Request) {}

func (o *order) push(item reconcile.Request, priority int) {
	o.queued[item] = priority
	if o.levels[priority] == nil {
		o.levels[priority] = &level{items: map[string][]reconcile.Request{}}
	}
	o.levels[priority].push(item)
}

func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queued)
}

func (o *order) Pop() reconcile.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		priority := slices.Max(slices.Collect(maps.Keys(o.levels)))
		item := o.levels[priority].pop()
		if len(o.levels[priority].namespaces) == 0 {
			delete(o.levels, priority)
		}
		if at, ok := o.queued[item]; ok && at == priority { // otherwise setPriority has raised the priority
			delete(o.queued, item)
			o.running[item] = priority
			return item
		}
	}
}

func (o *order) handedOut(item reconcile.Request) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	priority := o.running[item]
	delete(o.running, item)
	return priority
}

type level struct {
	namespaces []string
	items      map[string][]reconcile.Request
}

func (l *level) push(item reconcile.Request) {
	if len(l.items[item.Namespace]) == 0 {
		l.namespaces = append(l.namespaces, item.Namespace)
	}
	l.items[item.Namespace] = append(l.items[item.Namespace], item)
}

func (l *level) pop() reconcile.Request {
	namespace := l.namespaces[0]
	l.namespaces = l.namespaces[1:]
	item, rest := l.items[namespace][0], l.items[namespace][1:]
	if len(rest) == 0 {
		delete(l.items, namespace)
	} else {
		l.items[namespace], l.namespaces = rest, append(l.namespaces, namespace)
	}
	return item
}
