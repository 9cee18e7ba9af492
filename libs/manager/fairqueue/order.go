// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// order is what a queue of client-go keeps its ready items in: it says which is next. It is safe for
// concurrent use, since the priority of an item is said before the item is added.
type order struct {
	mu      sync.Mutex
	wanted  map[reconcile.Request]int // with which priority an item is to be queued, 0 for none
	queued  map[reconcile.Request]int // with which it is
	running map[reconcile.Request]int // with which it was handed out
	levels  map[int]*level            // by priority; none is empty
}

func newOrder() *order {
	return &order{
		wanted: map[reconcile.Request]int{}, queued: map[reconcile.Request]int{},
		running: map[reconcile.Request]int{}, levels: map[int]*level{},
	}
}

// want records the priority of an item that is about to be added. Of several the highest counts.
func (o *order) want(item reconcile.Request, priority int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before, ok := o.wanted[item]; !ok || priority > before {
		o.wanted[item] = priority
	}
}

// Push adds an item that is not queued.
func (o *order) Push(item reconcile.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(item, o.wanted[item])
	delete(o.wanted, item)
}

// Touch is called for an item that is queued and added again: it moves up where it has a higher
// priority now. What is left of it on the lower level is skipped.
func (o *order) Touch(item reconcile.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if priority, ok := o.wanted[item]; ok && priority > o.queued[item] {
		o.push(item, priority)
	}
	delete(o.wanted, item)
}

func (o *order) push(item reconcile.Request, priority int) {
	o.queued[item] = priority
	if o.levels[priority] == nil {
		o.levels[priority] = &level{items: map[string][]reconcile.Request{}}
	}
	o.levels[priority].push(item)
}

// Len is how many items are queued.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queued)
}

// Pop hands out the next item: of the highest priority, and there of the namespace whose turn it is.
func (o *order) Pop() reconcile.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		priority := slices.Max(slices.Collect(maps.Keys(o.levels)))
		item := o.levels[priority].pop()
		if len(o.levels[priority].turns) == 0 {
			delete(o.levels, priority)
		}
		if at, ok := o.queued[item]; ok && at == priority { // else it has moved up since
			delete(o.queued, item)
			o.running[item] = priority
			return item
		}
	}
}

// handedOut returns the priority with which an item was handed out, once.
func (o *order) handedOut(item reconcile.Request) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	priority := o.running[item]
	delete(o.running, item)
	return priority
}

// level has the items of one priority: those of a namespace in the order in which they came, and the
// namespaces in the order of their turns. A namespace without items has none.
type level struct {
	turns []string
	items map[string][]reconcile.Request
}

func (l *level) push(item reconcile.Request) {
	if len(l.items[item.Namespace]) == 0 {
		l.turns = append(l.turns, item.Namespace)
	}
	l.items[item.Namespace] = append(l.items[item.Namespace], item)
}

func (l *level) pop() reconcile.Request {
	namespace := l.turns[0]
	l.turns = l.turns[1:]
	item, rest := l.items[namespace][0], l.items[namespace][1:]
	if len(rest) == 0 {
		delete(l.items, namespace)
	} else {
		l.items[namespace], l.turns = rest, append(l.turns, namespace)
	}
	return item
}
