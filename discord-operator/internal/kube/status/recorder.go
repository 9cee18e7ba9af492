// SPDX-License-Identifier: Apache-2.0

// Package status writes what an operator writes to its own objects: the finalizer, the status, and
// events. Every write is expected in the cache, so that a reconcile can tell whether it is shown.
package status

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/metrics"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
)

// Recorder records what becomes of the objects of one kind: on the objects, in events, in metrics.
type Recorder struct {
	Kind         string
	Client       client.Client
	Events       events.EventRecorder
	Expectations *expectations.Set
	Metrics      *metrics.Metrics
	Clock        clock.PassiveClock
	// Resync is when an object is reconciled again without a change.
	Resync time.Duration
	// UnverifiedPeriod is how long an object that was Ready stays Ready while Discord cannot be asked
	// whether it matches its spec still.
	UnverifiedPeriod time.Duration

	outages outages
}

func (r *Recorder) key(o client.Object) expectations.Key {
	return expectations.Key{Kind: r.Kind, NamespacedName: client.ObjectKeyFromObject(o)}
}

// Satisfied reports whether the object is as new as what we wrote to it last.
func (r *Recorder) Satisfied(o client.Object) bool { return r.Expectations.Satisfied(r.key(o), o) }

// Relevant passes what an object of the kind is reconciled for: a new spec, annotations, and what
// others have written.
func (r *Recorder) Relevant() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, r.Expectations.ByOthers(r.Kind))
}

// Finalized reports whether the object has our finalizer, so that a create may have been sent.
func Finalized(o client.Object) bool {
	return controllerutil.ContainsFinalizer(o, v1alpha1.CleanupFinalizer)
}

// EnsureFinalizer stores the finalizer, unless the object has changed since it was read.
func (r *Recorder) EnsureFinalizer(ctx context.Context, o client.Object) error {
	return r.patch(ctx, o, controllerutil.AddFinalizer)
}

// RemoveFinalizer takes the finalizer off, so that the object can go. Where that was the last one, the API
// server answers with the object as it was sent, whose version the cache has already
// (k8s.io/apiserver, registry.Store.deleteWithoutFinalizers): the object is expected to go instead.
func (r *Recorder) RemoveFinalizer(ctx context.Context, o client.Object) error {
	r.outages.over(o.GetUID())
	err := r.patch(ctx, o, controllerutil.RemoveFinalizer)
	if errors.Is(err, apply.ErrStale) { // it is off, although another client has written
		err = nil
	}
	err = client.IgnoreNotFound(err)
	if err == nil && len(o.GetFinalizers()) == 0 && !o.GetDeletionTimestamp().IsZero() {
		r.Expectations.ExpectDeleted(r.key(o), o.GetUID())
	}
	return err
}

func (r *Recorder) patch(ctx context.Context, o client.Object, change func(client.Object, string) bool) error {
	before := o.DeepCopyObject().(client.Object)
	if !change(o, v1alpha1.CleanupFinalizer) {
		return nil
	}
	done := r.Expectations.Writing(r.key(o))
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, o, patch); err != nil {
		done("")
		return fmt.Errorf("patch the finalizer: %w", err)
	}
	if done(o.GetResourceVersion()) {
		return apply.ErrStale
	}
	return nil
}

// Event records an event about an object.
func (r *Recorder) Event(o client.Object, kind, reason, message string) {
	const maxLength = 1024 // what the API server accepts
	if len(message) > maxLength {
		message = strings.ToValidUTF8(message[:maxLength-3], "") + "..."
	}
	r.Events.Eventf(o, nil, kind, reason, "Reconcile", "%s", message)
}

// Normal records an event about something that went as it should.
func (r *Recorder) Normal(o client.Object, reason, format string, args ...any) {
	r.Event(o, corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...))
}

// DriftCorrected records that what the spec manages was changed on Discord, and was changed back.
func (r *Recorder) DriftCorrected(o client.Object, fields ...string) {
	for _, field := range fields {
		r.Metrics.Drift(r.Kind, o.GetNamespace(), field)
	}
	r.Normal(o, "DriftCorrected", "Corrected drift on Discord: %s.", strings.Join(fields, ", "))
}

// Recreated records that an external resource was deleted on Discord and that another one was created in its
// place, which is no repair: what was in it is lost.
func (r *Recorder) Recreated(ctx context.Context, o client.Object, what, before, now, lost string) {
	r.Metrics.Drift(r.Kind, o.GetNamespace(), "existence")
	message := fmt.Sprintf("A user or another program deleted %s (%s) on Discord, and the operator created it again (%s)."+
		" Lost are %s.", what, before, now, lost)
	r.Event(o, corev1.EventTypeWarning, "Recreated", message)
	logf.FromContext(ctx).Info("created again on Discord what was deleted there",
		"kind", r.Kind, "was", before, "is", now, "lost", lost)
}

// Bound counts an external resource that an object has acquired: created, adopted or recovered.
func (r *Recorder) Bound(how string) { r.Metrics.Created(r.Kind, how) }

// Deleted counts an object that is gone, and what became of its external resource: deleted,
// retained, gone or abandoned.
func (r *Recorder) Deleted(how string) { r.Metrics.Deleted(r.Kind, how) }
