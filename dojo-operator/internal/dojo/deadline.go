package dojo

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// impatient waits until the deadline has passed since the given time and then gives up.
func impatient(now, since time.Time, deadline time.Duration, waiting *conditions.Waiting, terminal *conditions.Terminal) error {
	waiting.Retry = min(deadline, deadline-now.Sub(since)) // a clock that is ahead of ours must not make it longer
	if waiting.Retry <= 0 {
		return terminal
	}
	return waiting
}

// missed is impatient with an object that somebody else has to make, since the Dojo's conditions have first said so. The messages name
// the object: whatever else changes in the spec, it is the same one that is missed.
func missed(d *corev1api.Dojo, now time.Time, deadline time.Duration, waiting *conditions.Waiting, terminal *conditions.Terminal) error {
	if holds(d, conditions.Degraded, terminal.Message) != nil {
		return terminal
	}
	since := now
	if c := holds(d, conditions.Progressing, waiting.Message); c != nil {
		since = c.LastTransitionTime.Time // it moves only when Progressing flips: who was Progressing before is missed sooner
	}
	return impatient(now, since, deadline, waiting, terminal)
}

// holds returns the Dojo's condition of a kind if it is True with this message.
func holds(d *corev1api.Dojo, kind, message string) *metav1.Condition {
	c := meta.FindStatusCondition(d.Status.Conditions, kind)
	if c == nil || c.Status != metav1.ConditionTrue || c.Message != message {
		return nil
	}
	return c
}
