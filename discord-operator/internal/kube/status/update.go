// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Object is one of ours.
type Object interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions(now []metav1.Condition)
	GetManagementPolicy() v1alpha1.ManagementPolicy
	GetDifferences() []string
}

// Report is how a reconcile ended.
type Report struct {
	// Name names the object in an error: `group "alerts"`.
	Name string
	// Before is the object as it was read, After has its new status.
	Before, After Object
	// Changed is whether something was changed on Discord, which is reported in any case.
	Changed bool
	// Worst is the worst issue; nil where there is none.
	Worst *conditions.Issue
	// Stale says that the cache lags behind, so that there is nothing to report.
	Stale bool
}

// Update writes the status where it differs, and says when to reconcile again. What is over in a
// moment is not reported. Only the worst issue counts: a request that Discord has refused must not
// be repeated because something lesser is retried.
func (r *Recorder) Update(ctx context.Context, report Report) (reconcile.Result, error) {
	if report.Stale {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	age := r.Clock.Since(report.Before.GetCreationTimestamp().Time)
	if wait := issues.Unreported(report.Worst, report.Before.GetConditions(), age); wait > 0 && !report.Changed {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if report.Worst != nil { // of our own: an issue may be shared
		worst := *report.Worst
		report.Worst = &worst
	}
	r.unverified(ctx, &report)
	setObserved(report.After)
	setPaused(report.After)
	var list []conditions.Issue
	if report.Worst != nil {
		report.Worst.RequeueAfter = issues.Retry(report.Worst, report.Before.GetConditions(), r.Clock.Now())
		list = append(list, *report.Worst)
		logf.FromContext(ctx).V(1).Info("not reconciled", "issue", report.Worst.Error())
	}
	failed := r.write(ctx, report)
	result, err := conditions.Result(list)
	if errors.Is(failed, apply.ErrStale) {
		failed, result.RequeueAfter = nil, apply.StaleRetry
	}
	if err = errors.Join(err, failed); err != nil {
		return reconcile.Result{}, fmt.Errorf("%s: %w", report.Name, err)
	}
	if result.RequeueAfter == 0 {
		result.RequeueAfter = r.Resync
	}
	return result, nil
}

// Record writes what a status has to say before a call, so that a crash does not lose it.
func (r *Recorder) Record(ctx context.Context, before, after Object) error {
	return r.write(ctx, Report{Before: before, After: after})
}

// write patches the status and makes known what that means. ErrStale says that another client has
// written at the same time, so that the object is to be read again.
func (r *Recorder) write(ctx context.Context, report Report) error {
	if equality.Semantic.DeepEqual(report.Before, report.After) {
		return nil
	}
	after, was, now := report.After, report.Before.GetConditions(), report.After.GetConditions()
	done := r.Expectations.Writing(r.key(after))
	// The version keeps it from being written to another object of the same name: of a status the API
	// server does not compare the UID.
	patch := client.MergeFromWithOptions(report.Before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); err != nil {
		done("")
		switch {
		case apierrors.IsNotFound(err): // deleted meanwhile
			return nil
		case conditions.Conflict(err):
			return apply.ErrStale
		}
		return fmt.Errorf("patch status: %w", err)
	}
	others := done(after.GetResourceVersion())
	conditions.LogChange(ctx, r.Kind, was, now)
	if e := conditions.EventFor(was, now); e != nil {
		r.Event(after, e.Type, e.Reason, e.Message)
	}
	if differ := meta.FindStatusCondition(now, v1alpha1.TypeInSync); differ != nil &&
		differ.Status == metav1.ConditionFalse && !meta.IsStatusConditionFalse(was, v1alpha1.TypeInSync) {
		r.Event(after, corev1.EventTypeNormal, differ.Reason, differ.Message)
	}
	// Before an object is Ready for the first time, it has never been Available.
	if !meta.IsStatusConditionTrue(was, conditions.TypeAvailable) &&
		meta.IsStatusConditionTrue(now, conditions.TypeReady) {
		r.Metrics.Ready(r.Kind, r.Clock.Since(after.GetCreationTimestamp().Time))
	}
	if others {
		return apply.ErrStale
	}
	return nil
}

// Available is the last known availability, and unusable where there is none: users need neither
// the bot nor the operator for what exists.
func Available(was []metav1.Condition, unknown conditions.Availability) conditions.Availability {
	c := meta.FindStatusCondition(was, conditions.TypeAvailable)
	switch {
	case c == nil:
		return unknown
	case c.Status == metav1.ConditionTrue:
		return conditions.Usable(c.Reason, c.Message)
	}
	return conditions.Unusable(c.Reason, c.Message)
}

// Reconciled reports whether the object was Ready for this very spec, so that a difference was made
// on Discord.
func Reconciled(o Object) bool {
	ready := meta.FindStatusCondition(o.GetConditions(), conditions.TypeReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == o.GetGeneration()
}
