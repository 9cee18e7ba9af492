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
		retry time.Duration // 0: given up
	}{
		"begins to wait":                  {tokyo(), deadline},
		"has waited a while":              {tokyo(since(20*time.Second, conditions.Progressing, "Hoping", 3)), 40 * time.Second},
		"a moment before the deadline":    {tokyo(since(deadline-1, conditions.Progressing, "Hoping", 3)), 1},
		"at the deadline":                 {tokyo(since(deadline, conditions.Progressing, "Hoping", 3)), 0},
		"long after it":                   {tokyo(since(time.Hour, conditions.Progressing, "Hoping", 3)), 0},
		"has waited for something else":   {tokyo(since(time.Hour, conditions.Progressing, "RollingOut", 3)), deadline},
		"the spec has changed":            {tokyo(since(time.Hour, conditions.Progressing, "Hoping", 2)), deadline},
		"has given up":                    {tokyo(since(0, conditions.Degraded, "Despair", 3)), 0},
		"gave up on something else":       {tokyo(since(0, conditions.Degraded, "ImagePullBackOff", 3)), deadline},
		"gave up, the spec has changed":   {tokyo(since(0, conditions.Degraded, "Despair", 2)), deadline},
		"Degraded, but not any longer":    {tokyo(since(0, conditions.Degraded, "Despair", 3), denied), deadline},
		"Progressing, but not any longer": {tokyo(since(time.Hour, conditions.Progressing, "Hoping", 3), denied), deadline},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			terminal := &conditions.Terminal{Reason: "Despair", Message: "in vain"}
			got := impatient(c.dojo, noon, deadline, &conditions.Waiting{Reason: "Hoping", Message: "soon"}, terminal)
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
