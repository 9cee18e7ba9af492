package dojo

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// since gives the Dojo one condition that has been True since noon minus the given time.
func since(ago time.Duration, kind, reason string, generation int64) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		d.Status.Conditions = []metav1.Condition{{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(noon.Add(-ago)),
		}}
	}
}

func TestImpatient(t *testing.T) {
	t.Parallel()
	const deadline = time.Minute
	cases := map[string]struct {
		dojo  *corev1api.Dojo
		ago   time.Duration
		retry time.Duration // 0: given up
	}{
		"begins to wait":                {tokyo(), 0, deadline},
		"has waited a while":            {tokyo(), 20 * time.Second, 40 * time.Second},
		"a moment before the deadline":  {tokyo(), deadline - 1, 1},
		"at the deadline":               {tokyo(), deadline, 0},
		"long after it":                 {tokyo(), time.Hour, 0},
		"by a clock that is ahead":      {tokyo(), -time.Hour, deadline},
		"has given up":                  {tokyo(since(0, conditions.Degraded, "Despair", 3)), 0, 0},
		"gave up on something else":     {tokyo(since(0, conditions.Degraded, "ImagePullBackOff", 3)), 0, deadline},
		"gave up, the spec has changed": {tokyo(since(0, conditions.Degraded, "Despair", 2)), 0, deadline},
		"Degraded, but not any longer":  {tokyo(since(0, conditions.Degraded, "Despair", 3), denied), 0, deadline},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			terminal := &conditions.Terminal{Reason: "Despair", Message: "in vain"}
			got := impatient(c.dojo, noon, noon.Add(-c.ago), deadline, &conditions.Waiting{Reason: "Hoping", Message: "soon"}, terminal)
			var want error = terminal
			if c.retry > 0 {
				want = &conditions.Waiting{Reason: "Hoping", Message: "soon", Retry: c.retry}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func denied(d *corev1api.Dojo) {
	d.Status.Conditions[0].Status = metav1.ConditionFalse
}
