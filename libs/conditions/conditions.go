package conditions

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of condition that every kind of ours carries.
const (
	// Ready means that the spec is true: neither Progressing nor Degraded, and Available unless the spec asks for nothing to run.
	Ready = "Ready"
	// Available means that it can be used now. It may hold while Progressing (scaling 3 to 5) or Degraded (5 wanted, 3 run).
	Available = "Available"
	// Progressing means that the operator is working towards the desired state.
	Progressing = "Progressing"
	// Degraded means an error that the operator cannot recover from alone; the message says what to do.
	Degraded = "Degraded"
)

// Reasons that are the same for every kind.
const (
	// ReasonSettled: there is nothing left to do, the spec is true.
	ReasonSettled = "Settled"
	// ReasonRetrying: a call failed in a way that may pass; it is retried with growing pauses. The message holds the error.
	ReasonRetrying = "Retrying"
)

// Availability is whether the thing can be used now. Make one with Usable, Unusable or NothingAsked.
type Availability struct {
	usable, unwanted bool
	reason, message  string
}

// Usable says that the thing can be used now.
func Usable(reason, message string) Availability {
	return Availability{usable: true, reason: reason, message: message}
}

// Unusable says that the thing should be usable and is not.
func Unusable(reason, message string) Availability {
	return Availability{reason: reason, message: message}
}

// NothingAsked says that nothing can be used because the spec asks for nothing to run; such an object can still be Ready.
func NothingAsked(reason, message string) Availability {
	return Availability{unwanted: true, reason: reason, message: message}
}

// Set derives all four conditions, each with the given observedGeneration, from whether the thing can be used and from how
// the pass ended. It reports whether any of them changed; lastTransitionTime moves only when a status flips.
func Set(conds *[]metav1.Condition, generation int64, can Availability, outcome error) bool {
	changed := false
	for _, c := range derive(can, outcome) {
		c.ObservedGeneration = generation
		changed = meta.SetStatusCondition(conds, c) || changed
	}
	return changed
}

func derive(can Availability, outcome error) [4]metav1.Condition {
	available := condition(Available, can.usable, can.reason, can.message)
	progressing, degraded := false, false
	reason, message := ReasonSettled, "The spec is true."
	if w, ok := errors.AsType[*Waiting](outcome); ok {
		progressing, reason, message = true, w.Reason, w.Message
	} else if t, ok := errors.AsType[*Terminal](outcome); ok {
		degraded, reason, message = true, t.Reason, t.Message
	} else if LostRace(outcome) {
		progressing, reason, message = true, ReasonRetrying, "Somebody else wrote at the same time; trying again."
	} else if outcome != nil {
		progressing, reason, message = true, ReasonRetrying, outcome.Error()
	}

	settled := !progressing && !degraded
	ready := condition(Ready, settled && (can.usable || can.unwanted), reason, message)
	if settled && !can.usable && !can.unwanted {
		ready.Reason, ready.Message = can.reason, can.message
	}
	return [4]metav1.Condition{
		ready,
		available,
		condition(Progressing, progressing, reason, message),
		condition(Degraded, degraded, reason, message),
	}
}

// mostMessage is the length, in bytes, up to which we tell what happened; the API server accepts 32768 characters.
const mostMessage = 4096

func condition(kind string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	if len(message) > mostMessage {
		message = strings.ToValidUTF8(message[:mostMessage-3], "") + "..."
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}
