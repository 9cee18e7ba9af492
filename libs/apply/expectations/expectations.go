// SPDX-License-Identifier: Apache-2.0

// Package expectations reports whether a cache already has this process's own writes
// (read-your-writes).
//
// A decision on a lagging cache makes writes without effect, or undoes the last write. [Set] holds
// the last write of each object until the cache shows it or a timeout ends. A Set need not survive
// a restart: its loss costs a write without effect, if the decision is repeatable. Before writing
// something random, such as a new password, ask the API server.
//
// controller-runtime 0.25 offers the same as EnableReadYourWritesConsistency, experimental. It is
// not used, for reasons that its source (pkg/client/consistency.go, internal/consistencyhandler) and
// a test against a real API server have shown:
//
//   - It stores one observed version for each kind and representation. With several watched
//     namespaces, an event in one namespace declares the others up to date: 19 of 300 reads were
//     stale.
//   - Each representation is separate. The write of a typed Secret would start an informer that caches
//     every Secret, and a read of metadata would still not wait for it. Our applies are unstructured,
//     most of our reads are typed.
//   - A read waits inside the worker, without a deadline unless its context has one. After a deletion
//     that met a new object of the same name, each read of that name waits until its context ends.
//   - It does not report whether an event stems from an own write. The watch on Dojos needs that.
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
	// absentTimeout bounds the wait while the cache lacks the object: it may have been deleted.
	absentTimeout = 3 * time.Second
	// outdatedTimeout bounds the wait for a newer version. After an outage client-go watches again
	// within a minute (reflector.go: 30 s, plus jitter). A decision before that could be wrong for
	// good: if the watch then brings no change, nothing triggers another reconcile.
	outdatedTimeout = 2 * time.Minute
	sweepAt         = 1024
)

// Key identifies an object of one kind.
type Key struct {
	Kind string
	types.NamespacedName
}

// KeyOf returns the key of an object.
func KeyOf(kind, namespace, name string) Key {
	return Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// Set holds the operator's last write of each object. It is safe for concurrent use.
type Set struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	last    map[Key]write
	pending map[Key][]string // versions that the cache showed during a write
	sweep   int              // number of writes at which expired ones are removed
}

type write struct {
	version string    // resourceVersion after the write; empty for a deletion
	before  string    // resourceVersion of the previous write, if the cache lacks that too
	deleted types.UID // UID of the deleted object
	at      time.Time
}

// NewSet returns an empty set.
func NewSet(c clock.PassiveClock) *Set {
	return &Set{clock: c, last: map[Key]write{}, pending: map[Key][]string{}, sweep: sweepAt}
}

// Expect records a write and the resulting resourceVersion.
func (s *Set) Expect(key Key, resourceVersion string) { s.put(key, write{version: resourceVersion}) }

// Writing records the start of a write. Until done, [Set.ByOthers] holds back all changes of the
// object: the cache may show the write before the response. done takes the new resourceVersion
// (empty after a failure). If it returns true, a foreign change was held back: reconcile the object
// again.
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
		others := slices.ContainsFunc(s.pending[key], func(version string) bool { return !s.last[key].resultedIn(version) })
		delete(s.pending, key)
		return others
	}
}

// ExpectDeleted records the deletion of the object with this UID.
func (s *Set) ExpectDeleted(key Key, uid types.UID) { s.put(key, write{deleted: uid}) }

func (s *Set) put(key Key, w write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.at = s.clock.Now()
	// Satisfied removes the write of an object that is read again. Objects of a deleted owner are
	// not, so remove their writes here.
	if len(s.last) >= s.sweep {
		maps.DeleteFunc(s.last, func(_ Key, old write) bool { return w.at.Sub(old.at) > outdatedTimeout })
		s.sweep = max(sweepAt, 2*len(s.last))
	}
	if w.version != "" {
		w.before = s.last[key].version
	}
	s.last[key] = w
}

// Satisfied reports whether the cached object (nil for none) is at least as new as our last write.
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
	if !w.visibleIn(cached) && s.clock.Since(w.at) <= timeout {
		return false
	}
	delete(s.last, key)
	return true
}

// isOwn reports whether a version is our own write, or may be while a write is pending. It records
// the version for the end of a pending write.
func (s *Set) isOwn(key Key, resourceVersion string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.pending[key]; ok {
		s.pending[key] = append(held, resourceVersion)
		return true
	}
	return s.last[key].resultedIn(resourceVersion)
}

// ByOthers passes the updates of a kind that other clients made, so that foreign changes are
// corrected: a former leader's last status may reach the cache after our first reconcile. Our own
// write passes too if it reaches the cache before Expect, which costs a reconcile without effect.
func (s *Set) ByOthers(kind string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  s.updatedByOthers(kind),
	}
}

// NotOurs passes all events of a kind except our own creates and updates.
func (s *Set) NotOurs(kind string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			return !s.isOwn(Key{kind, client.ObjectKeyFromObject(e.Object)}, e.Object.GetResourceVersion())
		},
		UpdateFunc: s.updatedByOthers(kind),
	}
}

func (s *Set) updatedByOthers(kind string) func(event.UpdateEvent) bool {
	return func(e event.UpdateEvent) bool {
		key, version := Key{kind, client.ObjectKeyFromObject(e.ObjectNew)}, e.ObjectNew.GetResourceVersion()
		return version != e.ObjectOld.GetResourceVersion() && !s.isOwn(key, version)
	}
}

func (w write) resultedIn(resourceVersion string) bool {
	return resourceVersion == w.version || resourceVersion == w.before
}

func (w write) visibleIn(cached metav1.Object) bool {
	if w.version == "" {
		return cached == nil || cached.GetUID() != w.deleted
	}
	if cached == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), w.version)
	return err != nil || order >= 0 // versions that cannot be compared must not stop the reconciler
}
