// SPDX-License-Identifier: Apache-2.0

// Package expectations reports whether the cache shows the operator's last writes. A reconcile from
// an older cache would repeat or undo them. After a restart, the last writes are unknown: before
// you write a random value, such as a password, read the object from the API server.
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
	// absentTimeout limits the wait for a deletion, or for an object that may be deleted already.
	absentTimeout = 3 * time.Second
	// outdatedTimeout limits the wait for a new version of a cached object. client-go repeats a
	// failed watch within a minute (reflector.go: 30 s, plus jitter).
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

// Set has the last write of each object. It is safe for concurrent use. The experimental
// EnableReadYourWritesConsistency of controller-runtime 0.25 (pkg/client/consistency.go) cannot
// replace it: An event in one namespace marks all namespaces as up to date. Typed reads do not wait
// for unstructured writes. Reads may block workers without a deadline. It cannot filter the
// events of our own writes.
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

// Writing starts a write. The cache may show it before its response arrives, so no event of the
// object passes [Set.ByOthers] until you call done. Pass the new resourceVersion to done, or ""
// after a failure. If done returns true, another client has changed the object: reconcile again.
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
	// Nothing reads the objects of a deleted owner, so Satisfied does not remove their writes.
	if len(s.last) >= s.sweep {
		maps.DeleteFunc(s.last, func(_ Key, old write) bool { return w.at.Sub(old.at) > outdatedTimeout })
		s.sweep = max(sweepAt, 2*len(s.last))
	}
	if w.version != "" {
		w.before = s.last[key].version
	}
	s.last[key] = w
}

// Satisfied reports whether the cached object (or nil) shows our last write, or the wait timed out.
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

// isOwn reports whether we wrote a version. During a write, it returns true and saves the version.
func (s *Set) isOwn(key Key, resourceVersion string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.pending[key]; ok {
		s.pending[key] = append(held, resourceVersion)
		return true
	}
	return s.last[key].resultedIn(resourceVersion)
}

// ByOthers returns a predicate that passes only updates by other clients. It may also pass an own
// update, for example if the cache shows the update before you call Expect.
func (s *Set) ByOthers(kind string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  s.updatedByOthers(kind),
	}
}

// NotOurs returns a predicate that passes all events of a kind except resyncs, own creates and own
// updates. Like [Set.ByOthers], it may pass an own write.
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
