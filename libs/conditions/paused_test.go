// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSetPaused(t *testing.T) {
	t.Parallel()
	const message = "It is paused."
	for _, ready := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
		conds := []metav1.Condition{{Type: TypeReady, Status: ready, Reason: "Reconciled", Message: "As the spec says."}}
		SetPaused(&conds, 3, true, message)
		got := meta.FindStatusCondition(conds, TypePaused)
		if got == nil || got.Status != metav1.ConditionTrue || got.Reason != TypePaused || got.Message != message || got.ObservedGeneration != 3 {
			t.Errorf("Ready %s: %+v", ready, got)
		}
		says := map[metav1.ConditionStatus]string{metav1.ConditionTrue: message, metav1.ConditionFalse: "As the spec says."}[ready]
		if is := meta.FindStatusCondition(conds, TypeReady); is.Message != says || is.Status != ready {
			t.Errorf("Ready %s is %+v, want the message %q", ready, is, says)
		}
		SetPaused(&conds, 4, false, message)
		if meta.FindStatusCondition(conds, TypePaused) != nil {
			t.Errorf("Ready %s: still paused", ready)
		}
	}
}
