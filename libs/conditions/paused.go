// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypePaused exists only while it is True: a user has the object left as it is. It is the reason too.
const TypePaused = "Paused"

// SetPaused says of an object that it is paused, also where it matches its spec: Ready then has the same
// reason and message. Of an object that is not, it takes the condition away.
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
