// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

const (
	firstRetry  = 500 * time.Millisecond
	lastRetry   = time.Minute
	retryJitter = 0.2 // the fraction by which the waits vary
)

// outages counts the failed reconciles of each object. The workqueue's back-off does not fit: each
// reconcile without an error resets it, and each error is logged with its stack.
type outages struct {
	mu      sync.Mutex
	objects map[types.UID]outage
}

type outage struct {
	failures int
	reported string
}

func (o *outages) failed(uid types.UID, message string) (retry time.Duration, isNew bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		o.objects = map[types.UID]outage{}
	}
	was := o.objects[uid]
	o.objects[uid] = outage{failures: was.failures + 1, reported: message}
	retry = min(firstRetry<<min(was.failures, 10), lastRetry)
	return wait.Jitter(retry, retryJitter), was.reported != message
}

// Forget drops the memory of a deleted object.
func (r *Recorder) Forget(uid types.UID) {
	r.outages.reset(uid)
	r.news.forget(uid)
}

func (o *outages) reset(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.objects, uid)
}

// unverified keeps a Ready object Ready for UnverifiedPeriod while Discord does not answer.
func (r *Recorder) unverified(ctx context.Context, report *Report) {
	worst, uid := report.Worst, report.Before.GetUID()
	deleted := !report.Before.GetDeletionTimestamp().IsZero()
	if deleted {
		setDeletionFailing(report, r.Clock.Now())
	}
	if worst == nil || worst.IsDegraded() {
		r.outages.reset(uid)
		if !deleted {
			conds := slices.Clone(report.After.GetConditions())
			meta.RemoveStatusCondition(&conds, v1alpha1.TypeVerified)
			report.After.SetConditions(conds)
		}
		return
	}
	if !worst.Unverified {
		return
	}
	retry, isNew := r.outages.failed(uid, worst.Message)
	if isNew {
		logf.FromContext(ctx).Info("cannot compare objects with Discord",
			"error", worst.Message, "retry", retry.Round(time.Second).String())
	}
	worst.RequeueAfter = min(retry, cmp.Or(worst.RequeueAfter, retry))
	if !deleted {
		report.After.SetConditions(r.unverifiedConditions(report))
	}
}

func (r *Recorder) unverifiedConditions(report *Report) []metav1.Condition {
	former, conds, since := report.Before.GetConditions(), slices.Clone(report.After.GetConditions()), r.Clock.Now()
	verified := meta.FindStatusCondition(former, v1alpha1.TypeVerified)
	if verified != nil {
		since = verified.LastTransitionTime.Time
	} else if !Reconciled(report.Before) {
		return conds // the object was never Ready with this spec
	}
	if Reconciled(report.Before) && !report.Changed && r.Clock.Since(since) < r.UnverifiedPeriod {
		conds = slices.Clone(former)
	}
	if verified == nil {
		meta.SetStatusCondition(&conds, metav1.Condition{
			Type: v1alpha1.TypeVerified, Status: metav1.ConditionFalse, Reason: conditions.ReasonRetrying,
			Message: report.Worst.Message, ObservedGeneration: report.Before.GetGeneration(),
			LastTransitionTime: metav1.NewTime(since),
		})
	}
	return conds
}
