// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// due lets through what client-go's delaying queue adds when its time has come, unless it has been handed
// out meanwhile.
type due struct {
	workqueue.TypedInterface[reconcile.Request]
	delaying workqueue.TypedDelayingInterface[reconcile.Request]

	mu sync.Mutex
	at map[reconcile.Request]time.Time // when what waits is due
}

// addAfter lets an item wait. Of several times the first one counts.
func (d *due) addAfter(item reconcile.Request, after time.Duration) {
	at := time.Now().Add(after)
	d.mu.Lock()
	if known, ok := d.at[item]; !ok || at.Before(known) {
		d.at[item] = at
	}
	d.mu.Unlock()
	d.delaying.AddAfter(item, after)
}

// forget ends the waiting of an item.
func (d *due) forget(item reconcile.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.at, item)
}

// Add is called when the time of an item has come: that of a wait which has ended, where there was one.
func (d *due) Add(item reconcile.Request) {
	d.mu.Lock()
	at, waits := d.at[item]
	left := time.Until(at)
	if waits && left <= 0 {
		delete(d.at, item)
	}
	d.mu.Unlock()
	switch {
	case waits && left > 0: // the delaying queue knows one time of each item, the earliest
		d.delaying.AddAfter(item, left)
	case waits:
		d.TypedInterface.Add(item)
	}
}
