// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/conditions"
)

// DeletionFailing returns how long a deletion has failed, from the status; 0 if it has not.
func DeletionFailing(o Object, now time.Time) time.Duration {
	if failing := deletionFailing(o); failing != nil {
		return now.Sub(failing.LastTransitionTime.Time)
	}
	return 0
}

// DeletionFailure returns the message of the failed deletion in the status; empty for none.
func DeletionFailure(o Object) string {
	c := meta.FindStatusCondition(o.GetConditions(), conditions.TypeDegraded)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonDeletionFailed {
		return ""
	}
	return c.Message
}

// deletionFailing returns the condition of a failing deletion, or nil. It ignores a condition of an
// older generation, which is from before the deletion.
func deletionFailing(o Object) *metav1.Condition {
	c := meta.FindStatusCondition(o.GetConditions(), v1alpha1.TypeVerified)
	if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != o.GetGeneration() {
		return nil
	}
	return c
}

func setDeletionFailing(report *Report, now time.Time) {
	conds := slices.Clone(report.After.GetConditions())
	meta.RemoveStatusCondition(&conds, v1alpha1.TypeVerified)
	if issues.Fails(report.Worst) {
		since := metav1.NewTime(now)
		if failing := deletionFailing(report.Before); failing != nil {
			since = failing.LastTransitionTime
		}
		conds = append(conds, metav1.Condition{
			Type: v1alpha1.TypeVerified, Status: metav1.ConditionFalse, Reason: report.Worst.Reason,
			Message: report.Worst.Message, ObservedGeneration: report.Before.GetGeneration(), LastTransitionTime: since,
		})
	}
	report.After.SetConditions(conds)
}
