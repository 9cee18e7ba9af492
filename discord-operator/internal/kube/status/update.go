// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Object is an object of one of the operator's kinds.
type Object interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions(conds []metav1.Condition)
	GetManagementPolicy() v1alpha1.ManagementPolicy
	GetDifferences() []string
}

// Report is the result of a reconcile, which Update writes into the status.
type Report struct {
	Name          string            // name of the object in errors, such as `group "alerts"`
	Before, After Object            // the object as read, and with its new status
	Changed       bool              // whether the reconcile changed something on Discord
	Worst         *conditions.Issue // nil for none
	Stale         bool              // whether the cache lags behind; if so, Update reports nothing
}

// Update writes a changed status, and returns when to reconcile again. Only the worst issue decides
// this: an earlier reconcile would repeat the request that Discord has refused.
func (r *Recorder) Update(ctx context.Context, report Report) (reconcile.Result, error) {
	if report.Stale {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	age := r.Clock.Since(report.Before.GetCreationTimestamp().Time)
	if wait := issues.Unreported(report.Worst, report.Before.GetConditions(), age); wait > 0 && !report.Changed {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if report.Worst != nil { // a copy, because other reports may share the issue
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

// Record writes a status before a call to Discord, so that it survives a crash after the call.
func (r *Recorder) Record(ctx context.Context, before, after Object) error {
	return r.write(ctx, Report{Before: before, After: after})
}

func (r *Recorder) write(ctx context.Context, report Report) error {
	if equality.Semantic.DeepEqual(report.Before, report.After) {
		return nil
	}
	after, former, conds := report.After, report.Before.GetConditions(), report.After.GetConditions()
	done := r.Expectations.Writing(r.key(after))
	// A status patch checks no UID; the resourceVersion protects a new object of the same name.
	patch := client.MergeFromWithOptions(report.Before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); err != nil {
		done("")
		switch {
		case apierrors.IsNotFound(err): // the object was deleted meanwhile
			return nil
		case conditions.Conflict(err):
			return apply.ErrStale
		}
		return fmt.Errorf("patch status: %w", err)
	}
	others := done(after.GetResourceVersion())
	conditions.LogChange(ctx, r.Kind, former, conds)
	if e := conditions.EventFor(former, conds); e != nil {
		r.Event(after, e.Type, e.Reason, e.Message)
	}
	if differ := meta.FindStatusCondition(conds, v1alpha1.TypeInSync); differ != nil &&
		differ.Status == metav1.ConditionFalse && !meta.IsStatusConditionFalse(former, v1alpha1.TypeInSync) {
		r.Event(after, corev1.EventTypeNormal, differ.Reason, differ.Message)
	}
	if r.news.becomeReady(after.GetUID(), ID(report.Before) == "" && ID(after) != "",
		meta.IsStatusConditionTrue(conds, conditions.TypeReady)) {
		r.Metrics.Ready(r.Kind, r.Clock.Since(after.GetCreationTimestamp().Time))
	}
	if others {
		return apply.ErrStale
	}
	return nil
}

// news has objects that were not Ready when their status got its first id. A restart forgets them.
type news struct {
	mu      sync.Mutex
	unready map[types.UID]bool
}

func (n *news) becomeReady(uid types.UID, isNew, ready bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	isNew = isNew || n.unready[uid]
	switch {
	case isNew && !ready && n.unready == nil:
		n.unready = map[types.UID]bool{uid: true}
	case isNew && !ready:
		n.unready[uid] = true
	default:
		delete(n.unready, uid)
	}
	return isNew && ready
}

func (n *news) forget(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.unready, uid)
}

// Available returns the last reported availability, for a resource that cannot be read now. It
// returns unknown if none was reported.
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

// Reconciled reports whether the object was Ready with its current spec. If so, differences are
// drift.
func Reconciled(o Object) bool {
	ready := meta.FindStatusCondition(o.GetConditions(), conditions.TypeReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == o.GetGeneration()
}
