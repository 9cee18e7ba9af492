// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// due adds an item after a delay, unless a worker receives the item before the delay ends.
type due struct {
	workqueue.TypedInterface[reconcile.Request]
	delaying workqueue.TypedDelayingInterface[reconcile.Request]

	mu sync.Mutex
	at map[reconcile.Request]time.Time // due times of waiting items
}

func (d *due) addAfter(item reconcile.Request, after time.Duration) {
	at := time.Now().Add(after)
	d.mu.Lock()
	if known, ok := d.at[item]; !ok || at.Before(known) {
		d.at[item] = at
	}
	d.mu.Unlock()
	d.delaying.AddAfter(item, after)
}

func (d *due) forget(item reconcile.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.at, item)
}

// Add is called by the delaying queue when a delay ends. Whether the item is due depends on d.at.
func (d *due) Add(item reconcile.Request) {
	d.mu.Lock()
	at, waits := d.at[item]
	remaining := time.Until(at)
	if waits && remaining <= 0 {
		delete(d.at, item)
	}
	d.mu.Unlock()
	switch {
	case waits && remaining > 0: // client-go's delaying queue has kept only the earlier end of the two delays
		// In a new goroutine, because the caller is the only receiver of the channel on which AddAfter
		// sends. AddAfter returns when the queue shuts down.
		go d.delaying.AddAfter(item, remaining)
	case waits:
		d.TypedInterface.Add(item)
	}
}
