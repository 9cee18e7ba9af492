// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of condition.
const (
	// TypeReady: neither Progressing nor Degraded, and Available unless nothing should run.
	// `kubectl wait`, Flux and Helm read this condition.
	TypeReady = "Ready"
	// TypeAvailable: usable now, even if Progressing (scales from 3 to 5) or Degraded (3 of 5 run).
	TypeAvailable   = "Available"
	TypeProgressing = "Progressing"
	// TypeDegraded: only a user can fix the error; the message says how.
	TypeDegraded = "Degraded"
)

// The reasons shared by all kinds.
const (
	ReasonReconciled = "Reconciled"
	// ReasonRetrying: a call failed, and the operator retries it.
	ReasonRetrying = "Retrying"
)

// Availability says whether the object is usable now, with a reason and a message.
type Availability struct {
	usable, nothingDesired bool
	reason, message        string
}

// Usable is the availability of a usable object.
func Usable(reason, message string) Availability {
	return Availability{usable: true, reason: reason, message: message}
}

// Unusable is the availability of an object that should be usable but is not.
func Unusable(reason, message string) Availability {
	return Availability{reason: reason, message: message}
}

// NothingDesired is the availability of an object that should run nothing. Such an object can be
// Ready.
func NothingDesired(reason, message string) Availability {
	return Availability{nothingDesired: true, reason: reason, message: message}
}

// Set sets all four conditions and reports whether a condition changed. worst may be nil.
func Set(conds *[]metav1.Condition, generation int64, availability Availability, worst *Issue) bool {
	changed := false
	for _, c := range derive(availability, worst) {
		c.ObservedGeneration = generation
		changed = meta.SetStatusCondition(conds, c) || changed
	}
	return changed
}

func derive(availability Availability, worst *Issue) [4]metav1.Condition {
	reason, message := ReasonReconciled, "The object matches its spec."
	if worst != nil {
		reason, message = worst.Reason, worst.Message
	}
	ready := condition(TypeReady, worst == nil && (availability.usable || availability.nothingDesired), reason, message)
	if worst == nil && !availability.usable && !availability.nothingDesired {
		ready.Reason, ready.Message = availability.reason, availability.message
	}
	return [4]metav1.Condition{
		ready,
		condition(TypeAvailable, availability.usable, availability.reason, availability.message),
		condition(TypeProgressing, worst != nil && !worst.IsDegraded(), reason, message),
		condition(TypeDegraded, worst.IsDegraded(), reason, message),
	}
}

// SetPart sets the condition of one part, such as "DatabaseReady": True if the part has no issues.
func SetPart(conds *[]metav1.Condition, generation int64, part string, issues []Issue, reason, message string) {
	worst := Worst(OfPart(part, issues))
	if worst != nil {
		reason, message = worst.Reason, worst.Message
	}
	c := condition(part, worst == nil, reason, message)
	c.ObservedGeneration = generation
	meta.SetStatusCondition(conds, c)
}

// maxMessage is in bytes. The API server accepts 32768 characters.
const maxMessage = 4096

func condition(kind string, isTrue bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: Truncated(message)}
}

// Truncated cuts a message to 4096 bytes, as [Set] and [SetPart] do.
func Truncated(message string) string {
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	return message
}

// Event is an event for users.
type Event struct {
	Type    string
	Reason  string
	Message string
}

// EventFor returns an event if the object becomes Ready, or Degraded for a new reason, else nil.
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
