// SPDX-License-Identifier: Apache-2.0

// Package expectations answers whether a cache already shows what this process has written itself
// (read-your-writes).
//
// A reconciler reads from a cache that lags behind its own writes by milliseconds. A decision on
// such a stale view makes writes that change nothing, or undoes what was just done. The set kept
// here is a shortcut, not state: it holds the last write of each object until the cache has shown
// it, or has had long enough to. Losing it costs a write that changes nothing, as long as the same
// decision writes the same. A client that writes something random, such as a new password, has to
// ask the API server first whether there is one.
//
// controller-runtime 0.25 offers the same as EnableReadYourWritesConsistency, experimental. It is
// not used, for reasons that its source (pkg/client/consistency.go, internal/consistencyhandler) and
// a test against a real API server have shown:
//
//   - It stores one observed version for each kind and representation. With several watched
//     namespaces, an event of one declares the others up to date: 19 of 300 reads were stale.
//   - Each representation is separate. The write of a typed Secret would start an informer that caches
//     every Secret, and a read of metadata would still not wait for it. Our applies are unstructured,
//     most of our reads are typed.
//   - A read waits inside the worker, without a deadline unless its context has one. After a deletion
//     that met a new object of the same name, each read of that name waits until its context ends.
//   - It does not report whether an event stems from an own write, which the watch on Dojos needs.
package expectations

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
	// absentTimeout is how long a write is expected that the cache may never show: it lags by
	// milliseconds, and an object that was deleted right after our write is not in it.
	absentTimeout = 3 * time.Second
	// outdatedTimeout is how long it is expected while the cache has an older version, so that a
	// newer one must come. After an outage of the API server, client-go watches again within a
	// minute (reflector.go: 30 s, plus as much jitter). A status decided before that would not be
	// corrected: nothing but the status has changed when the cache catches up.
	outdatedTimeout = 2 * time.Minute
	// sweepAt is how many expectations are kept before expired ones are removed.
	sweepAt = 1024
)

// Key names an object of one kind.
type Key struct {
	Kind string
	types.NamespacedName
}

// KeyOf returns the key of an object of a kind.
func KeyOf(kind, namespace, name string) Key {
	return Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// Set holds the latest own write of each object until [Set.Satisfied] has seen it in the cache, or
// gives up. It is safe for concurrent use.
type Set struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	last    map[Key]write
	pending map[Key][]string // versions that the cache has shown while a write is under way
	sweep   int              // at how many writes expired ones are removed
}

type write struct {
	version string    // resourceVersion after the write; empty for a deletion
	before  string    // that after the write before it, where the cache has not shown that either
	deleted types.UID // UID of the object that was deleted
	at      time.Time
}

// NewSet returns an empty set that reads the given clock.
func NewSet(c clock.PassiveClock) *Set {
	return &Set{clock: c, last: map[Key]write{}, pending: map[Key][]string{}, sweep: sweepAt}
}

// Expect records that the object was written and has the given resourceVersion since.
func (s *Set) Expect(key Key, resourceVersion string) { s.put(key, write{version: resourceVersion}) }

// Writing records that a write of the object begins, which the cache may show before its answer
// arrives: until it is over, [Set.ByOthers] holds back all changes of the object. done records, as
// Expect does, the resourceVersion after the write, empty when it failed. It reports whether a
// change by another client was held back: the object has to be reconciled again.
func (s *Set) Writing(key Key) (done func(resourceVersion string) (others bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[key] = nil
	return func(resourceVersion string) bool {
		if resourceVersion != "" {
			s.Expect(key, resourceVersion)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		others := slices.ContainsFunc(s.pending[key], func(version string) bool { return !s.last[key].ledTo(version) })
		delete(s.pending, key)
		return others
	}
}

// ExpectDeleted records that the object with this UID was deleted.
func (s *Set) ExpectDeleted(key Key, uid types.UID) { s.put(key, write{deleted: uid}) }

func (s *Set) put(key Key, w write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.at = s.clock.Now()
	// Objects that are never read again, since their owner is gone, would stay for ever.
	if len(s.last) >= s.sweep {
		maps.DeleteFunc(s.last, func(_ Key, old write) bool { return w.at.Sub(old.at) > outdatedTimeout })
		s.sweep = max(sweepAt, 2*len(s.last))
	}
	if w.version != "" {
		w.before = s.last[key].version
	}
	s.last[key] = w
}

// Satisfied reports whether the cached view of an object, nil where the cache has none, is at least
// as new as our last write.
func (s *Set) Satisfied(key Key, cached metav1.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.last[key]
	if !ok {
		return true
	}
	timeout := absentTimeout
	if w.version != "" && cached != nil {
		timeout = outdatedTimeout
	}
	if !w.shownBy(cached) && s.clock.Since(w.at) <= timeout {
		return false
	}
	delete(s.last, key)
	return true
}

// own reports whether this version of an object is one of our own writes, or has to be held back
// since it may be. A version that was shown already is forgotten: the answer is then no.
func (s *Set) own(key Key, resourceVersion string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.pending[key]; ok {
		s.pending[key] = append(held, resourceVersion)
		return true
	}
	return s.last[key].ledTo(resourceVersion)
}

// ByOthers passes updates of objects of a kind that are not our own writes, so that what another
// client changes, the status above all, is corrected: also the last status of a former leader,
// which may reach the cache after our first reconcile. A write that is recorded by Expect alone may
// reach the cache before; that costs a reconcile that writes nothing.
func (s *Set) ByOthers(kind string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  s.updatedByOthers(kind),
	}
}

// NotOurs passes all events of objects of a kind but their creates and updates by ourselves, for
// children that nothing waits for: what was written is known.
func (s *Set) NotOurs(kind string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			return !s.own(Key{kind, client.ObjectKeyFromObject(e.Object)}, e.Object.GetResourceVersion())
		},
		UpdateFunc: s.updatedByOthers(kind),
	}
}

func (s *Set) updatedByOthers(kind string) func(event.UpdateEvent) bool {
	return func(e event.UpdateEvent) bool {
		key, version := Key{kind, client.ObjectKeyFromObject(e.ObjectNew)}, e.ObjectNew.GetResourceVersion()
		return version != e.ObjectOld.GetResourceVersion() && !s.own(key, version)
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
