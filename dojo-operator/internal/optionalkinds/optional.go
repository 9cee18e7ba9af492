// SPDX-License-Identifier: Apache-2.0

// Package optionalkinds watches kinds that a cluster may not have. A watch of a missing kind never
// syncs, and a watch of a removed kind fails for ever. So this package starts a watch when the API
// server serves the kind, and stops the watch when the CustomResourceDefinition is deleted.
package optionalkinds

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// newRetry is short: the API server usually serves a new CustomResourceDefinition within a
	// second.
	newRetry = 200 * time.Millisecond
	// oldRetry is long: an older CustomResourceDefinition may lack the version that the operator
	// uses.
	oldRetry = time.Minute
	// failedRetry is the longest interval after an error that does not show whether the API server
	// serves the kind, such as a timeout.
	failedRetry = 2 * time.Second
)

// Kind is a kind that the cluster may lack. Plural is its name in API paths, such as "databases".
type Kind struct {
	schema.GroupVersionKind
	Plural string
}

// Object returns an empty unstructured object of the kind.
func (k Kind) Object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.GroupVersionKind)
	return o
}

func (k *Kinds) object(kind Kind) client.Object {
	if typed, err := k.scheme.New(kind.GroupVersionKind); err == nil {
		return typed.(client.Object)
	}
	return kind.Object()
}

// Definition returns the name of the kind's CustomResourceDefinition.
func (k Kind) Definition() string { return k.Plural + "." + k.Group }

// Definition returns an empty object for the metadata of a CustomResourceDefinition.
func Definition() *metav1.PartialObjectMetadata {
	kind := metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	return &metav1.PartialObjectMetadata{TypeMeta: kind}
}

// Kinds starts and stops the watches of optional kinds.
type Kinds struct {
	cache          cache.Cache
	scheme         *runtime.Scheme
	live           client.Reader
	probeNamespace client.InNamespace // checkServed lists one watched namespace, or all namespaces
	clock          clock.PassiveClock
	byName         map[string]Kind // keyed by the name of the CustomResourceDefinition
	watch          func(Kind) error
	changed        chan event.TypedGenericEvent[Kind]

	watched map[schema.GroupVersionKind]bool // kinds that have an informer
	cached  sync.Map                         // the kinds for which Has returns true, keyed by schema.GroupVersionKind
}

// New returns Kinds that use the manager's cache. Empty namespaces means all namespaces.
func New(mgr ctrl.Manager, c clock.PassiveClock, namespaces []string, kinds ...Kind) *Kinds {
	k := &Kinds{
		cache: mgr.GetCache(), scheme: mgr.GetScheme(), live: mgr.GetAPIReader(), clock: c, byName: map[string]Kind{},
		changed: make(chan event.TypedGenericEvent[Kind], len(kinds)),
		watched: map[schema.GroupVersionKind]bool{},
	}
	if len(namespaces) > 0 {
		k.probeNamespace = client.InNamespace(namespaces[0])
	}
	for _, kind := range kinds {
		k.byName[kind.Definition()] = kind
	}
	return k
}

// Has reports whether the cache has the objects of the kind.
func (k *Kinds) Has(kind Kind) bool {
	_, shown := k.cached.Load(kind.GroupVersionKind)
	return shown
}

// Defined reports whether the kind has a CustomResourceDefinition, even if the cache lacks the
// objects of the kind.
func (k *Kinds) Defined(ctx context.Context, kind Kind) (bool, error) {
	err := k.cache.Get(ctx, types.NamespacedName{Name: kind.Definition()}, Definition())
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get the definition of %s: %w", kind.Kind, err)
	}
	return err == nil, nil
}

// SetupWithManager makes target watch all kinds. The controller target must not have started yet.
// Watches of installed kinds start at once, so that an installed kind never seems to be missing.
func (k *Kinds) SetupWithManager(
	ctx context.Context, mgr ctrl.Manager, target controller.Controller,
	objects handler.EventHandler, changes handler.TypedEventHandler[Kind, reconcile.Request],
) error {
	k.watch = func(kind Kind) error {
		return target.Watch(source.Kind(k.cache, k.object(kind), objects))
	}
	if err := target.Watch(source.TypedChannel(k.changed, changes)); err != nil {
		return fmt.Errorf("watch for optional kinds: %w", err)
	}
	for _, kind := range k.byName {
		if k.checkServed(ctx, kind) != nil {
			continue
		}
		if err := k.watch(kind); err != nil {
			return fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		k.watched[kind.GroupVersionKind] = true
		// The cache has not synced yet, but the controller starts only after the sync.
		k.cached.Store(kind.GroupVersionKind, true)
	}
	// A standby watches the kinds too, so that its cache is complete when it becomes the leader.
	needLeader := false
	return ctrl.NewControllerManagedBy(mgr).
		Named("optional-kinds").
		WatchesMetadata(Definition(), &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{NeedLeaderElection: &needLeader}).
		Complete(k)
}

// Reconcile starts or stops the watch of a kind.
func (k *Kinds) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	kind, ours := k.byName[request.Name]
	if !ours {
		return reconcile.Result{}, nil
	}
	definition := Definition()
	err := k.cache.Get(ctx, request.NamespacedName, definition)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("get the definition of %s: %w", kind.Kind, err)
	}
	if err != nil || definition.DeletionTimestamp != nil {
		return reconcile.Result{}, k.stopWatching(ctx, kind)
	}
	return k.startWatching(ctx, kind, definition.CreationTimestamp.Time)
}

func (k *Kinds) startWatching(ctx context.Context, kind Kind, since time.Time) (reconcile.Result, error) {
	log := logf.FromContext(ctx).WithValues("kind", kind.Kind)
	if !k.watched[kind.GroupVersionKind] {
		if err := k.checkServed(ctx, kind); err != nil {
			wait := k.retryDelay(since)
			if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) && !apierrors.IsForbidden(err) {
				wait = min(wait, failedRetry)
			}
			log.V(1).Info("the kind cannot be read yet", "error", err.Error(), "again", wait)
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		if err := k.watch(kind); err != nil {
			return reconcile.Result{}, fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		k.watched[kind.GroupVersionKind] = true
	}
	informer, err := k.cache.GetInformer(ctx, k.object(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	if !informer.HasSynced() {
		return reconcile.Result{RequeueAfter: k.retryDelay(since)}, nil
	}
	if !k.Has(kind) {
		log.Info("watching a kind that has appeared")
		k.cached.Store(kind.GroupVersionKind, true)
		if err := k.report(ctx, kind); err != nil {
			k.cached.Delete(kind.GroupVersionKind) // so that the retry reports the kind
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

func (k *Kinds) stopWatching(ctx context.Context, kind Kind) error {
	if !k.watched[kind.GroupVersionKind] {
		return nil
	}
	k.cached.Delete(kind.GroupVersionKind)
	if err := k.cache.RemoveInformer(ctx, k.object(kind)); err != nil {
		return fmt.Errorf("stop watching %s: %w", kind.Kind, err)
	}
	delete(k.watched, kind.GroupVersionKind)
	logf.FromContext(ctx).Info("no longer watching a kind that has vanished", "kind", kind.Kind)
	return k.report(ctx, kind)
}

func (k *Kinds) report(ctx context.Context, kind Kind) error {
	select {
	case k.changed <- event.TypedGenericEvent[Kind]{Object: kind}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkServed returns an error if the API server does not serve the kind: a
// CustomResourceDefinition may lack the version that the operator uses.
func (k *Kinds) checkServed(ctx context.Context, kind Kind) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return k.live.List(ctx, list, k.probeNamespace, client.Limit(1))
}

func (k *Kinds) retryDelay(since time.Time) time.Duration {
	if k.clock.Since(since) > oldRetry {
		return oldRetry
	}
	return newRetry
}
