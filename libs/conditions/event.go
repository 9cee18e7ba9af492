package conditions

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is what a person should be told once.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is the CamelCase reason of the condition that changed.
	Reason string
	// Message is the message of that condition.
	Message string
}

// EventFor returns the event that a change of conditions is worth, or nil: a Warning when the object becomes Degraded or is so
// for another reason, and a Normal one when it becomes Ready. Progress is not worth one: it would be one per loop.
func EventFor(before, after []metav1.Condition) *Event {
	now := meta.FindStatusCondition(after, Degraded)
	if now != nil && now.Status == metav1.ConditionTrue {
		then := meta.FindStatusCondition(before, Degraded)
		if then != nil && then.Status == metav1.ConditionTrue && then.Reason == now.Reason {
			return nil
		}
		return &Event{Type: corev1.EventTypeWarning, Reason: now.Reason, Message: now.Message}
	}
	if meta.IsStatusConditionTrue(after, Ready) && !meta.IsStatusConditionTrue(before, Ready) {
		ready := meta.FindStatusCondition(after, Ready)
		return &Event{Type: corev1.EventTypeNormal, Reason: Ready, Message: ready.Message}
	}
	return nil
}
