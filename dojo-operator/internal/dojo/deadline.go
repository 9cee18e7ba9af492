package dojo

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// impatient waits until the deadline has passed since the given time and then gives up. What was given up stays so until the
// spec or the world changes, even if the time is told anew.
func impatient(d *corev1api.Dojo, now, since time.Time, deadline time.Duration, waiting *conditions.Waiting, terminal *conditions.Terminal) error {
	if holds(d, conditions.Degraded, terminal.Reason) != nil {
		return terminal
	}
	waiting.Retry = min(deadline, deadline-now.Sub(since)) // a clock that is ahead of ours must not make it longer
	if waiting.Retry <= 0 {
		return terminal
	}
	return waiting
}

// holds returns the Dojo's condition of a kind if it is True for this reason and speaks of the present spec.
func holds(d *corev1api.Dojo, kind, reason string) *metav1.Condition {
	c := meta.FindStatusCondition(d.Status.Conditions, kind)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || c.ObservedGeneration != d.Generation {
		return nil
	}
	return c
}
