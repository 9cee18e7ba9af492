// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
)

// DeletionFailing is for how long each try to delete what an object has on Discord has failed; 0 where the last
// one did not. The status has since when, so that a restart of the operator does not begin anew.
func DeletionFailing(o Object, now time.Time) time.Duration {
	if failing := deletionFailing(o); failing != nil {
		return now.Sub(failing.LastTransitionTime.Time)
	}
	return 0
}

// deletionFailing is the condition of an object whose deletion fails, nil for none. One of an older generation
// is from before the deletion, which has made a new one.
func deletionFailing(o Object) *metav1.Condition {
	c := meta.FindStatusCondition(o.GetConditions(), v1alpha1.TypeVerified)
	if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != o.GetGeneration() {
		return nil
	}
	return c
}

// setDeletionFailing keeps the time of the first failure for as long as nothing but failures follows.
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
