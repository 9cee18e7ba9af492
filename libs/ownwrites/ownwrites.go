// Package ownwrites tells whether a cache already shows what this process
// has written itself.
//
// A reconciler reads from a cache that lags behind its own writes by a few
// milliseconds. Deciding on such a stale view makes writes that
// change nothing, or undo what was just done. The record kept here is a
// shortcut, not state: it holds only writes that the cache has not shown yet, for a few seconds, and losing
// it costs at most one write that changes nothing.
package ownwrites

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

// patience is how long a write is waited for. A cache lags by milliseconds; an object that somebody deleted right after we wrote
// it never shows, and must not be waited for much longer than that.
const patience = 3 * time.Second

// Key names an object of one kind.
type Key struct {
	Kind string
	types.NamespacedName
}

// Record holds the latest own write of each object that the cache has not shown yet. It is safe for concurrent use.
type Record struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	last  map[Key]write
}

type write struct {
	version string    // resourceVersion after the write; empty for a deletion
	deleted types.UID // UID of what was deleted
	at      time.Time
}

// NewRecord returns an empty record that tells the time by the given clock.
func NewRecord(c clock.PassiveClock) *Record {
	return &Record{clock: c, last: map[Key]write{}}
}

// Wrote notes that the object was written and has the given resourceVersion since.
func (r *Record) Wrote(key Key, resourceVersion string) {
	r.put(key, write{version: resourceVersion})
}

// Deleted notes that the object with this UID was deleted.
func (r *Record) Deleted(key Key, uid types.UID) {
	r.put(key, write{deleted: uid})
}

func (r *Record) put(key Key, w write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.at = r.clock.Now()
	// Objects that are never read again, since their owner is gone, would stay for ever: sweep whenever there are many.
	if len(r.last) >= 1024 {
		for k, old := range r.last {
			if w.at.Sub(old.at) > patience {
				delete(r.last, k)
			}
		}
	}
	r.last[key] = w
}

// Shows reports whether the cached view of an object, nil where the cache has none, is at least as new as our last write to it.
func (r *Record) Shows(key Key, cached metav1.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.last[key]
	if !ok {
		return true
	}
	if !w.shownBy(cached) && r.clock.Since(w.at) <= patience {
		return false
	}
	delete(r.last, key)
	return true
}

func (w write) shownBy(cached metav1.Object) bool {
	if w.version == "" {
		return cached == nil || cached.GetUID() != w.deleted
	}
	if cached == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), w.version)
	return err != nil || order >= 0 // versions that cannot be compared must not stop the reconciler
}
