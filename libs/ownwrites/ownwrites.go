// Package ownwrites tells whether a cache already shows what this process
// has written itself.
//
// A reconciler reads from a cache that lags behind its own writes by a few
// milliseconds. Deciding on such a stale view makes writes that
// change nothing, or undo what was just done. The record kept here is a
// shortcut, not state: it holds the last write of each object until a pass has seen it
// shown, or has waited for long enough. Losing it costs a write that changes nothing, as
// long as the same decision writes the same. Whoever writes something random, a new
// password, has to ask the API server first whether there is one.
package ownwrites

import (
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	// patience is how long a write is waited for that may never show: a cache lags by milliseconds, and an object that somebody deleted right after
	// we wrote it is not in it.
	patience = 3 * time.Second
	// outage is how long it is waited for while the cache has an older version of the object: it will show a newer one. When an API server has been
	// away, client-go begins to watch again after up to a minute (reflector.go: 30 s, and as much again by chance). A status that was decided
	// on what was true before would not be looked at again: nothing but the status has changed when the cache catches up.
	outage = 2 * time.Minute
	// many is how many writes are kept before it is looked for old ones.
	many = 1024
)

// Key names an object of one kind.
type Key struct {
	Kind string
	types.NamespacedName
}

// Record holds the latest own write of each object until [Record.Shows] has seen the cache show it, or gives up. It is safe for concurrent use.
type Record struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	last  map[Key]write
	held  map[Key][]string // versions that the cache has shown while a write is under way
	sweep int              // at how many writes old ones are looked for
}

type write struct {
	version string    // resourceVersion after the write; empty for a deletion
	before  string    // that after the write before it, where that was not shown yet either
	deleted types.UID // UID of what was deleted
	at      time.Time
}

// NewRecord returns an empty record that tells the time by the given clock.
func NewRecord(c clock.PassiveClock) *Record {
	return &Record{clock: c, last: map[Key]write{}, held: map[Key][]string{}, sweep: many}
}

// Wrote notes that the object was written and has the given resourceVersion since.
func (r *Record) Wrote(key Key, resourceVersion string) {
	r.put(key, write{version: resourceVersion})
}

// Writing notes that a write of the object begins, which the cache may show before its answer is here: until it is over, [Record.ByOthers] holds all changes
// of the object back. done notes, as Wrote does, which resourceVersion the object has since; empty when the write failed. It reports whether a change by
// somebody else was held back: then the object has to be looked at again.
func (r *Record) Writing(key Key) (done func(resourceVersion string) (others bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[key] = nil
	return func(resourceVersion string) bool {
		if resourceVersion != "" {
			r.Wrote(key, resourceVersion)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		others := slices.ContainsFunc(r.held[key], func(version string) bool { return !r.last[key].ledTo(version) })
		delete(r.held, key)
		return others
	}
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
	if len(r.last) >= r.sweep {
		maps.DeleteFunc(r.last, func(_ Key, old write) bool { return w.at.Sub(old.at) > outage })
		r.sweep = max(many, 2*len(r.last))
	}
	if w.version != "" {
		w.before = r.last[key].version
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
	wait := patience
	if w.version != "" && cached != nil {
		wait = outage
	}
	if !w.shownBy(cached) && r.clock.Since(w.at) <= wait {
		return false
	}
	delete(r.last, key)
	return true
}

// own reports whether this version of an object is of our own writes, or has to be held back since it may be. One that was shown already is not
// remembered: the answer is then no.
func (r *Record) own(key Key, resourceVersion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held, ok := r.held[key]; ok {
		r.held[key] = append(held, resourceVersion)
		return true
	}
	return r.last[key].ledTo(resourceVersion)
}

// ByOthers lets through changes of objects of a kind that are not our own writes. What we have written of an object, its status above all, is then put
// right when somebody else has written it: a person, or the leader before us, whose last words may reach the cache after our first pass. Of a write that is
// noted only when it is over, by Wrote alone, the cache may tell before; that costs a pass in which nothing is written.
func (r *Record) ByOthers(kind string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			version := e.ObjectNew.GetResourceVersion()
			return version != e.ObjectOld.GetResourceVersion() && !r.own(Key{kind, client.ObjectKeyFromObject(e.ObjectNew)}, version)
		},
	}
}

func (w write) ledTo(resourceVersion string) bool {
	return resourceVersion == w.version || resourceVersion == w.before
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
