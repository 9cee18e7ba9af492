// SPDX-License-Identifier: Apache-2.0

// Package optionalkinds watches kinds that a cluster may or may not have.
//
// A watch of a kind that is not installed never gets ready, and one of a kind that goes away fails
// for ever. So the names of all CustomResourceDefinitions are watched, their metadata only: a kind
// is watched as soon as its definition exists and the API server serves it, and dropped, with all
// that was cached of it, when the definition goes. Both reach the controller that is fed as events,
// so that it reconciles the objects concerned. It works on a standby too, so that its cache is warm
// when it takes over.
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
	// newRetry is when to look again at a kind that has just been defined: the API server serves it
	// within a second.
	newRetry = 200 * time.Millisecond
	// oldRetry is the same for one that has been defined for longer and is not served, such as in
	// another version.
	oldRetry = time.Minute
	// failedRetry is the same where the API server does not answer the question.
	failedRetry = 2 * time.Second
)

// Kind is a kind that may or may not be installed.
type Kind struct {
	schema.GroupVersionKind
	// Plural is its name in paths, such as "databases".
	Plural string
}

// Object returns an empty object of a kind whose type is not in the manager's scheme.
func (k Kind) Object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.GroupVersionKind)
	return o
}

// object returns an empty object of a kind, of its type where the scheme has one: so it is cached,
// and read.
func (k *Kinds) object(kind Kind) client.Object {
	if typed, err := k.scheme.New(kind.GroupVersionKind); err == nil {
		return typed.(client.Object)
	}
	return kind.Object()
}

// Definition is the name of its CustomResourceDefinition.
func (k Kind) Definition() string { return k.Plural + "." + k.Group }

// Definition returns empty metadata of a CustomResourceDefinition.
func Definition() *metav1.PartialObjectMetadata {
	kind := metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	return &metav1.PartialObjectMetadata{TypeMeta: kind}
}

// Kinds watches kinds while they are there. Make one with New and start it with SetupWithManager.
type Kinds struct {
	cache   cache.Cache
	scheme  *runtime.Scheme
	live    client.Reader
	probed  client.InNamespace // where served asks: everywhere, or in one of the namespaces that are watched
	clock   clock.PassiveClock
	byName  map[string]Kind // by the name of the definition
	watch   func(Kind) error
	changed chan event.TypedGenericEvent[Kind]

	watched map[schema.GroupVersionKind]bool // whether there is an informer
	shown   sync.Map                         // the schema.GroupVersionKind of kinds that the cache shows
}

// New returns Kinds that fill the manager's cache, which shows the given namespaces, or all when
// none is given. The clock says how long a definition has existed.
func New(mgr ctrl.Manager, c clock.PassiveClock, namespaces []string, kinds ...Kind) *Kinds {
	k := &Kinds{
		cache: mgr.GetCache(), scheme: mgr.GetScheme(), live: mgr.GetAPIReader(), clock: c, byName: map[string]Kind{},
		changed: make(chan event.TypedGenericEvent[Kind], len(kinds)),
		watched: map[schema.GroupVersionKind]bool{},
	}
	if len(namespaces) > 0 {
		k.probed = client.InNamespace(namespaces[0])
	}
	for _, kind := range kinds {
		k.byName[kind.Definition()] = kind
	}
	return k
}

// Has reports whether objects of the kind can be read from the cache: it is installed, and may be
// listed.
func (k *Kinds) Has(kind Kind) bool {
	_, shown := k.shown.Load(kind.GroupVersionKind)
	return shown
}

// Defined reports whether the kind has a CustomResourceDefinition. Only one that has none is absent:
// one that has, and that the cache does not show, may hold objects all the same.
func (k *Kinds) Defined(ctx context.Context, kind Kind) (bool, error) {
	err := k.cache.Get(ctx, types.NamespacedName{Name: kind.Definition()}, Definition())
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get the definition of %s: %w", kind.Kind, err)
	}
	return err == nil, nil
}

// SetupWithManager feeds a controller, which must not be started yet, with the objects of the kinds
// and with the kinds themselves whenever one appears or vanishes. A kind that is installed already
// is watched from the start, so that it never counts as missing.
func (k *Kinds) SetupWithManager(
	ctx context.Context, mgr ctrl.Manager, fed controller.Controller,
	objects handler.EventHandler, changes handler.TypedEventHandler[Kind, reconcile.Request],
) error {
	k.watch = func(kind Kind) error {
		return fed.Watch(source.Kind(k.cache, k.object(kind), objects))
	}
	if err := fed.Watch(source.TypedChannel(k.changed, changes)); err != nil {
		return fmt.Errorf("watch for optional kinds: %w", err)
	}
	for _, kind := range k.byName {
		if k.served(ctx, kind) != nil {
			continue
		}
		if err := k.watch(kind); err != nil {
			return fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		k.watched[kind.GroupVersionKind] = true
		k.shown.Store(kind.GroupVersionKind, true) // a controller starts when its sources are synced
	}
	everywhere := false // on a standby as well
	return ctrl.NewControllerManagedBy(mgr).
		Named("optional-kinds").
		WatchesMetadata(Definition(), &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		Complete(k)
}

// Reconcile takes up or drops the kind that a definition defines.
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
		return reconcile.Result{}, k.drop(ctx, kind)
	}
	return k.take(ctx, kind, definition.CreationTimestamp.Time)
}

// take watches a kind that is served, and reports it when the cache shows it.
func (k *Kinds) take(ctx context.Context, kind Kind, since time.Time) (reconcile.Result, error) {
	log := logf.FromContext(ctx).WithValues("kind", kind.Kind)
	if !k.watched[kind.GroupVersionKind] {
		if err := k.served(ctx, kind); err != nil {
			wait := k.pause(since)
			if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) && !apierrors.IsForbidden(err) {
				wait = min(wait, failedRetry)
			}
			log.V(1).Info("not served yet", "error", err.Error(), "again", wait)
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
		return reconcile.Result{RequeueAfter: k.pause(since)}, nil
	}
	if !k.Has(kind) {
		log.Info("watching a kind that has appeared")
		k.shown.Store(kind.GroupVersionKind, true)
		return reconcile.Result{}, k.report(ctx, kind)
	}
	return reconcile.Result{}, nil
}

// drop forgets a kind.
func (k *Kinds) drop(ctx context.Context, kind Kind) error {
	if !k.watched[kind.GroupVersionKind] {
		return nil
	}
	k.shown.Delete(kind.GroupVersionKind)
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

// served asks the API server for the kind, in our version. A definition alone is no proof.
func (k *Kinds) served(ctx context.Context, kind Kind) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return k.live.List(ctx, list, k.probed, client.Limit(1))
}

// pause is how long to wait for a kind that has been defined at the given time.
func (k *Kinds) pause(since time.Time) time.Duration {
	if k.clock.Since(since) > oldRetry {
		return oldRetry
	}
	return newRetry
}
