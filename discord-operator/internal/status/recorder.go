// Package record writes on the objects themselves: the finalizer, the status, and events about them. Every write is noted, so that a
// pass can tell whether the cache shows it already.
package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/metrics"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// apply.StaleRetry is when a pass over an object that is not what it was is tried again.
const StaleRetry = 50 * time.Millisecond

// Recorder writes on the objects of one kind.
type Recorder struct {
	Kind         string
	Client       client.Client
	Events       events.EventRecorder
	Expectations *expectations.Set
	Metrics      *metrics.Metrics
}

func (r *Recorder) key(o client.Object) expectations.Key {
	return expectations.Key{Kind: r.Kind, NamespacedName: client.ObjectKeyFromObject(o)}
}

// Satisfied reports whether the object is as new as what we wrote to it last.
func (r *Recorder) Satisfied(o client.Object) bool { return r.Expectations.Satisfied(r.key(o), o) }

// EnsureFinalizer stores the finalizer, provided that nobody has changed the object since it was read.
func (r *Recorder) EnsureFinalizer(ctx context.Context, o client.Object) error {
	return r.finalizer(ctx, o, controllerutil.AddFinalizer)
}

// RemoveFinalizer takes the finalizer off, so that the object can go.
func (r *Recorder) RemoveFinalizer(ctx context.Context, o client.Object) error {
	err := r.finalizer(ctx, o, controllerutil.RemoveFinalizer)
	if errors.Is(err, apply.ErrStale) { // it is off, whoever else has written
		return nil
	}
	return client.IgnoreNotFound(err)
}

func (r *Recorder) finalizer(ctx context.Context, o client.Object, change func(client.Object, string) bool) error {
	before := o.DeepCopyObject().(client.Object)
	if !change(o, v1alpha1.CleanupFinalizer) {
		return nil
	}
	done := r.Expectations.Writing(r.key(o))
	if err := r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		done("")
		return fmt.Errorf("patch the finalizer: %w", err)
	}
	if done(o.GetResourceVersion()) {
		return apply.ErrStale
	}
	return nil
}

// Write writes the status of after where it differs from that of before, and makes known what that means to people. The caller has compared them.
// apply.ErrStale says that it is written, and that somebody else has written at the same time.
func (r *Recorder) Write(ctx context.Context, before, after client.Object, was, now []metav1.Condition) error {
	after.SetResourceVersion(before.GetResourceVersion())
	done := r.Expectations.Writing(r.key(after))
	err := r.Client.Status().Patch(ctx, after, client.MergeFrom(before))
	if err != nil {
		done("")
		if apierrors.IsNotFound(err) {
			return nil // it is gone: there is nobody left to tell
		}
		return fmt.Errorf("patch status: %w", err)
	}
	others := done(after.GetResourceVersion())
	if e := conditions.EventFor(was, now); e != nil {
		r.Event(after, e.Type, e.Reason, e.Message)
	}
	if firstReady(was, now) {
		r.Metrics.Ready(r.Kind, time.Since(after.GetCreationTimestamp().Time))
	}
	if others {
		return apply.ErrStale
	}
	return nil
}

// firstReady reports whether an object is Ready for the first time: before, it has never been Available.
func firstReady(was, now []metav1.Condition) bool {
	isTrue := func(list []metav1.Condition, kind string) bool {
		return slices.ContainsFunc(list, func(c metav1.Condition) bool { return c.Type == kind && c.Status == metav1.ConditionTrue })
	}
	return !isTrue(was, conditions.TypeAvailable) && isTrue(now, conditions.TypeReady)
}

// Event makes an event about an object.
func (r *Recorder) Event(o client.Object, kind, reason, message string) {
	const most = 1024 // what the API server accepts
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most-3], "") + "..."
	}
	r.Events.Eventf(o, nil, kind, reason, "Reconcile", "%s", message)
}

// Normal makes an event about something that went as it should.
func (r *Recorder) Normal(o client.Object, reason, format string, args ...any) {
	r.Event(o, corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...))
}

// DriftCorrected records that people changed on Discord what a spec manages, and that it was put back.
func (r *Recorder) DriftCorrected(o client.Object, fields []string) {
	for _, field := range fields {
		r.Metrics.Drift(r.Kind, field)
	}
	r.Normal(o, "DriftCorrected", "Corrected drift on Discord: %s.", strings.Join(fields, ", "))
}
