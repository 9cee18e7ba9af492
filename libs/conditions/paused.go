// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypePaused is the type of a condition that exists only while a user has paused the object. It is
// also the reason of this condition, and of the condition Ready of a paused object if Ready is
// True.
const TypePaused = "Paused"

// SetPaused adds or removes the condition Paused. If the condition Ready of a paused object is
// True, SetPaused gives it the same reason and message.
func SetPaused(conds *[]metav1.Condition, generation int64, paused bool, message string) {
	if !paused {
		meta.RemoveStatusCondition(conds, TypePaused)
		return
	}
	meta.SetStatusCondition(conds, metav1.Condition{
		Type: TypePaused, Status: metav1.ConditionTrue, Reason: TypePaused, Message: message, ObservedGeneration: generation,
	})
	if ready := meta.FindStatusCondition(*conds, TypeReady); ready != nil && ready.Status == metav1.ConditionTrue {
		ready.Reason, ready.Message = TypePaused, message
	}
}
