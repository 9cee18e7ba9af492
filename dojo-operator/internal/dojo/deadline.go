package dojo

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// impatient waits until the deadline has passed and then gives up. Since when the Dojo has been Progressing is read from its own
// conditions, so the answer survives a restart. What was given up stays so until the spec or the world changes.
func impatient(d *corev1api.Dojo, now time.Time, deadline time.Duration, waiting *conditions.Waiting, terminal *conditions.Terminal) error {
	holds := func(kind, reason string) *metav1.Condition {
		c := meta.FindStatusCondition(d.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || c.ObservedGeneration != d.Generation {
			return nil
		}
		return c
	}
	if holds(conditions.Degraded, terminal.Reason) != nil {
		return terminal
	}
	waiting.Retry = deadline
	if c := holds(conditions.Progressing, waiting.Reason); c != nil {
		waiting.Retry = deadline - now.Sub(c.LastTransitionTime.Time)
	}
	if waiting.Retry <= 0 {
		return terminal
	}
	return waiting
}
