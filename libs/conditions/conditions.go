// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of condition that every kind of ours carries.
const (
	// TypeReady: the object matches its spec, neither Progressing nor Degraded, and Available
	// unless the spec asks for nothing to run.
	TypeReady = "Ready"
	// TypeAvailable: it can be used now. It may be True while Progressing (scaling 3 to 5) or
	// Degraded (5 desired, 3 run).
	TypeAvailable = "Available"
	// TypeProgressing: the operator is working towards the desired state.
	TypeProgressing = "Progressing"
	// TypeDegraded: an error that the operator cannot recover from alone; the message says what to
	// do.
	TypeDegraded = "Degraded"
)

// Reasons that are the same for every kind.
const (
	// ReasonReconciled: there is nothing left to do, the object matches its spec.
	ReasonReconciled = "Reconciled"
	// ReasonRetrying: a call failed in a way that may pass; it is retried with back-off. The
	// message holds the error.
	ReasonRetrying = "Retrying"
)

// Availability is whether the object can be used now. Make one with Usable, Unusable or
// NothingDesired.
type Availability struct {
	usable, nothingDesired bool
	reason, message        string
}

// Usable says that the object can be used now.
func Usable(reason, message string) Availability {
	return Availability{usable: true, reason: reason, message: message}
}

// Unusable says that the object should be usable and is not.
func Unusable(reason, message string) Availability {
	return Availability{reason: reason, message: message}
}

// NothingDesired says that nothing can be used because the spec asks for nothing to run; such an
// object can still be Ready.
func NothingDesired(reason, message string) Availability {
	return Availability{nothingDesired: true, reason: reason, message: message}
}

// Set derives all four conditions, each with the given observedGeneration, from whether the object
// can be used and from the worst issue (nil where there is none). It reports whether any of them
// changed; lastTransitionTime moves only when a status flips.
func Set(conds *[]metav1.Condition, generation int64, can Availability, worst *Issue) bool {
	changed := false
	for _, c := range derive(can, worst) {
		c.ObservedGeneration = generation
		changed = meta.SetStatusCondition(conds, c) || changed
	}
	return changed
}

func derive(can Availability, worst *Issue) [4]metav1.Condition {
	reason, message := ReasonReconciled, "The object matches its spec."
	if worst != nil {
		reason, message = worst.Reason, worst.Message
	}
	ready := condition(TypeReady, worst == nil && (can.usable || can.nothingDesired), reason, message)
	if worst == nil && !can.usable && !can.nothingDesired {
		ready.Reason, ready.Message = can.reason, can.message
	}
	return [4]metav1.Condition{
		ready,
		condition(TypeAvailable, can.usable, can.reason, can.message),
		condition(TypeProgressing, worst != nil && !worst.IsDegraded(), reason, message),
		condition(TypeDegraded, worst.IsDegraded(), reason, message),
	}
}

// SetPart sets the condition about a part of the object: True with the given reason and message
// where the part has no issue, else False with those of its worst one.
func SetPart(conds *[]metav1.Condition, generation int64, part string, issues []Issue, reason, message string) {
	worst := Worst(OfPart(part, issues))
	if worst != nil {
		reason, message = worst.Reason, worst.Message
	}
	c := condition(part, worst == nil, reason, message)
	c.ObservedGeneration = generation
	meta.SetStatusCondition(conds, c)
}

// maxMessage is the length, in bytes, at which a message is cut; the API server accepts 32768
// characters.
const maxMessage = 4096

func condition(kind string, isTrue bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: Truncated(message)}
}

// Truncated is a message with at most as many bytes as a condition has room for. It is for those who
// set a condition without Set and SetPart: a longer message would keep the whole status from being
// written.
func Truncated(message string) string {
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	return message
}

// Event is reported once, for users to read.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is the CamelCase reason of the condition that changed.
	Reason string
	// Message is the message of that condition.
	Message string
}

// EventFor returns the event to record for a change of conditions, or nil: a Warning when the
// object becomes Degraded or is so for another reason, and a Normal one when it becomes Ready.
// Progress makes none: it would be one per reconcile.
func EventFor(before, after []metav1.Condition) *Event {
	now := meta.FindStatusCondition(after, TypeDegraded)
	if now != nil && now.Status == metav1.ConditionTrue {
		then := meta.FindStatusCondition(before, TypeDegraded)
		if then != nil && then.Status == metav1.ConditionTrue && then.Reason == now.Reason {
			return nil
		}
		return &Event{Type: corev1.EventTypeWarning, Reason: now.Reason, Message: now.Message}
	}
	if meta.IsStatusConditionTrue(after, TypeReady) && !meta.IsStatusConditionTrue(before, TypeReady) {
		ready := meta.FindStatusCondition(after, TypeReady)
		return &Event{Type: corev1.EventTypeNormal, Reason: TypeReady, Message: ready.Message}
	}
	return nil
}
