// SPDX-License-Identifier: Apache-2.0

// Package expectations reports whether a cache already has this process's own writes
// (read-your-writes).
//
// An operator that trusts a lagging cache repeats its last write without effect, or undoes it.
// [Set] holds the last write of each object until the cache shows the write or a timeout ends. A
// Set need not survive a restart: without it, the operator only repeats a write without effect.
// The exception is a write of a random value, such as a new password: before such a write, read
// the object from the API server.
//
// controller-runtime 0.25 has the same as an experimental option, EnableReadYourWritesConsistency.
// We do not use that option. Its source (pkg/client/consistency.go, internal/consistencyhandler)
// and a test against a real API server have shown these reasons:
//
//   - It stores one observed version for each kind and representation (typed, unstructured or
//     metadata). With several watched namespaces, an event in one namespace makes all other
//     namespaces count as up to date: 19 of 300 reads were stale.
//   - Each representation is separate. The write of a typed Secret would start an informer that
//     caches every Secret, and a read of metadata would still not wait for the write. Our applies
//     are unstructured, most of our reads are typed.
//   - A read waits inside the worker, without a deadline unless its context has one. If a deletion
//     hits a newer object of the same name, each read of this name waits until its context ends.
//   - It does not report whether an event shows one of our own writes. [Set.ByOthers] needs that.
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
	// absentTimeout bounds the wait while the cache lacks the object, since another client may have
	// deleted the object.
	absentTimeout = 3 * time.Second
	// outdatedTimeout bounds the wait for a newer version. After an outage client-go watches again
	// within a minute (reflector.go: 30 s, plus jitter). A plan from the old cache may be wrong,
	// and perhaps no later event causes its correction.
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
	pending map[Key][]string // resourceVersions that the cache showed during a write
	sweep   int              // when last has this many writes, put removes the expired ones
}

type write struct {
	version string    // resourceVersion after the write; empty for a deletion
	before  string    // resourceVersion of our previous write, if the cache has not shown that write yet
	deleted types.UID // UID of the deleted object
	at      time.Time
}

// NewSet returns an empty set.
func NewSet(c clock.PassiveClock) *Set {
	return &Set{clock: c, last: map[Key]write{}, pending: map[Key][]string{}, sweep: sweepAt}
}

// Expect records a write and the resulting resourceVersion.
func (s *Set) Expect(key Key, resourceVersion string) { s.put(key, write{version: resourceVersion}) }

// Writing records the start of a write. The cache may show the write before its response arrives,
// so until the caller calls done, [Set.ByOthers] passes no change of the object. Pass the new
// resourceVersion to done, or "" if the write failed. If done returns true, ByOthers has held back
// another client's change: reconcile the object again.
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
	// Satisfied removes a write when a client reads the object again. After the deletion of the
	// owner, no client does, so expired writes are removed here.
	if len(s.last) >= s.sweep {
		maps.DeleteFunc(s.last, func(_ Key, old write) bool { return w.at.Sub(old.at) > outdatedTimeout })
		s.sweep = max(sweepAt, 2*len(s.last))
	}
	if w.version != "" {
		w.before = s.last[key].version
	}
	s.last[key] = w
}

// Satisfied reports whether the cached object (nil for none) is at least as new as our last write,
// or the timeout of this write has ended.
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

// isOwn reports whether one of our own writes produced a resourceVersion. While a write is pending,
// this is unknown: isOwn returns true and keeps the resourceVersion until the write is done.
func (s *Set) isOwn(key Key, resourceVersion string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.pending[key]; ok {
		s.pending[key] = append(held, resourceVersion)
		return true
	}
	return s.last[key].resultedIn(resourceVersion)
}

// ByOthers returns a predicate that passes only updates by other clients, so that the operator
// corrects foreign changes. An example is the last status of a former leader, which may reach the
// cache after our first reconcile. If the cache shows our own write before Expect, that write
// passes too and costs a reconcile without effect.
func (s *Set) ByOthers(kind string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  s.updatedByOthers(kind),
	}
}

// NotOurs returns a predicate that passes all events of a kind except our own creates and updates.
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
	return err != nil || order >= 0 // if the versions cannot be compared, the caller must not wait
}
