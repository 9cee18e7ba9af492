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
	// firstRetry is when an object is retried after Discord could not be asked about it for the first
	// time; it is twice as long after each further one, up to lastRetry.
	firstRetry = 500 * time.Millisecond
	lastRetry  = time.Minute
	// retryJitter is the part of that by which retries differ, so that objects do not come together.
	retryJitter = 0.2
)

// outages are the objects about which Discord cannot be asked. The queue's own back-off would be
// forgotten with each reconcile that ends without an error, and each error would be logged with its
// stack. Losing them costs an earlier retry. The zero value has none.
type outages struct {
	mu      sync.Mutex
	objects map[types.UID]outage
}

type outage struct {
	failures int
	reported string
}

// failed counts a failure, and returns when to retry, and whether it is another one than last time.
func (o *outages) failed(uid types.UID, message string) (retry time.Duration, news bool) {
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

// over forgets an object.
func (o *outages) over(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.objects, uid)
}

// unverified is what an issue comes to that says only that Discord cannot be asked: the object is
// retried after a while, which is logged where it is news, and one that was Ready stays so for the
// Recorder's period. Of all other issues, those show that Discord answers which only a user can
// resolve.
func (r *Recorder) unverified(ctx context.Context, report *Report) {
	worst, uid := report.Worst, report.Before.GetUID()
	deleted := !report.Before.GetDeletionTimestamp().IsZero()
	if deleted {
		setDeletionFailing(report, r.Clock.Now())
	}
	if worst == nil || worst.IsDegraded() {
		r.outages.over(uid)
		if !deleted {
			now := slices.Clone(report.After.GetConditions())
			meta.RemoveStatusCondition(&now, v1alpha1.TypeVerified)
			report.After.SetConditions(now)
		}
		return
	}
	if !worst.Unverified {
		return
	}
	retry, news := r.outages.failed(uid, worst.Message)
	if news {
		logf.FromContext(ctx).Info("Discord cannot be asked",
			"error", worst.Message, "retry", retry.Round(time.Second).String())
	}
	worst.RequeueAfter = min(retry, cmp.Or(worst.RequeueAfter, retry))
	if !deleted {
		report.After.SetConditions(r.unverifiedConditions(report))
	}
}

// unverifiedConditions are those of an object about which Discord cannot be asked.
func (r *Recorder) unverifiedConditions(report *Report) []metav1.Condition {
	was, now, since := report.Before.GetConditions(), slices.Clone(report.After.GetConditions()), r.Clock.Now()
	verified := meta.FindStatusCondition(was, v1alpha1.TypeVerified)
	if verified != nil {
		since = verified.LastTransitionTime.Time
	} else if !Reconciled(report.Before) {
		return now // it never matched
	}
	if Reconciled(report.Before) && !report.Changed && r.Clock.Since(since) < r.UnverifiedPeriod {
		now = slices.Clone(was)
	}
	if verified == nil {
		meta.SetStatusCondition(&now, metav1.Condition{
			Type: v1alpha1.TypeVerified, Status: metav1.ConditionFalse, Reason: conditions.ReasonRetrying,
			Message: report.Worst.Message, ObservedGeneration: report.Before.GetGeneration(),
			LastTransitionTime: metav1.NewTime(since),
		})
	}
	return now
}
