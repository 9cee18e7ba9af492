// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypePaused is the type and the reason of a condition that exists only on a paused object.
const TypePaused = "Paused"

// SetPaused adds or removes the condition Paused. If it adds Paused and Ready is True, Ready gets
// the same reason and message.
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
