// SPDX-License-Identifier: Apache-2.0

// Package status writes finalizers, statuses and events, and tracks writes that the cache lacks.
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

// Recorder writes the results of reconciles of one kind: statuses, events and metrics.
type Recorder struct {
	Kind             string
	Client           client.Client
	Events           events.EventRecorder
	Expectations     *expectations.Set
	Metrics          *metrics.Metrics
	Clock            clock.PassiveClock
	Resync           time.Duration // time until the next reconcile, if nothing changes
	UnverifiedPeriod time.Duration // time for which an object stays Ready while Discord does not answer

	outages outages
	news    news
}

func (r *Recorder) key(o client.Object) expectations.Key {
	return expectations.Key{Kind: r.Kind, NamespacedName: client.ObjectKeyFromObject(o)}
}

// Satisfied reports whether the cache shows our last write to the object, or the wait timed out.
func (r *Recorder) Satisfied(o client.Object) bool { return r.Expectations.Satisfied(r.key(o), o) }

// Relevant returns a predicate that drops resyncs, and our own updates that change neither the spec
// nor the annotations.
func (r *Recorder) Relevant() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, r.Expectations.ByOthers(r.Kind))
}

// Finalized reports whether the object has our finalizer, which we set before we send a create.
func Finalized(o client.Object) bool {
	return controllerutil.ContainsFinalizer(o, v1alpha1.CleanupFinalizer)
}

// EnsureFinalizer adds the finalizer. It fails if the object has changed since it was read.
func (r *Recorder) EnsureFinalizer(ctx context.Context, o client.Object) error {
	return r.patch(ctx, o, controllerutil.AddFinalizer)
}

// RemoveFinalizer removes our finalizer. If it was the last finalizer of a deleted object,
// RemoveFinalizer records an expected deletion, because the response to this removal has the old
// resourceVersion (k8s.io/apiserver, registry.Store.deleteWithoutFinalizers).
func (r *Recorder) RemoveFinalizer(ctx context.Context, o client.Object) error {
	r.outages.reset(o.GetUID())
	err := r.patch(ctx, o, controllerutil.RemoveFinalizer)
	if errors.Is(err, apply.ErrStale) { // the finalizer is removed, although another client has written too
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

// Event records a Kubernetes event of an object.
func (r *Recorder) Event(o client.Object, kind, reason, message string) {
	const maxLength = 1024 // the API server's limit
	if len(message) > maxLength {
		message = strings.ToValidUTF8(message[:maxLength-3], "") + "..."
	}
	r.Events.Eventf(o, nil, kind, reason, "Reconcile", "%s", message)
}

// Normal records an event of type Normal.
func (r *Recorder) Normal(o client.Object, reason, format string, args ...any) {
	r.Event(o, corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...))
}

// DriftCorrected records that the operator has undone changes of fields on Discord.
func (r *Recorder) DriftCorrected(o client.Object, fields ...string) {
	for _, field := range fields {
		r.Metrics.Drift(r.Kind, o.GetNamespace(), field)
	}
	r.Normal(o, "DriftCorrected", "Corrected drift on Discord: %s.", strings.Join(fields, ", "))
}

// Recreated warns that a resource was created again without its content (lost).
func (r *Recorder) Recreated(ctx context.Context, o client.Object, what, oldID, newID, lost string) {
	r.Metrics.Drift(r.Kind, o.GetNamespace(), "existence")
	message := fmt.Sprintf("A user or another program deleted %s (%s) on Discord, and the operator created it again "+
		"(%s), without %s.", what, oldID, newID, lost)
	r.Event(o, corev1.EventTypeWarning, "Recreated", message)
	logf.FromContext(ctx).Info("recreated a resource that was deleted on Discord",
		"kind", r.Kind, "was", oldID, "is", newID, "lost", lost)
}

// Bound counts a resource that an object now manages. how is "created", "adopted" or "recovered".
func (r *Recorder) Bound(how string) { r.Metrics.Created(r.Kind, how) }

// Deleted counts a deleted object. how is "deleted", "retained", "gone" or "abandoned".
func (r *Recorder) Deleted(how string) { r.Metrics.Deleted(r.Kind, how) }
