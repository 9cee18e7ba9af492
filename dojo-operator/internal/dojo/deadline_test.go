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
func since(ago time.Duration, kind, message string, generation int64) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		d.Status.Conditions = []metav1.Condition{{
			Type: kind, Status: metav1.ConditionTrue, Reason: "Because", Message: message, ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(noon.Add(-ago)),
		}}
	}
}

func TestImpatient(t *testing.T) {
	t.Parallel()
	const deadline = time.Minute
	cases := map[string]struct {
		ago   time.Duration
		retry time.Duration // 0: given up
	}{
		"begins to wait":               {0, deadline},
		"has waited a while":           {20 * time.Second, 40 * time.Second},
		"a moment before the deadline": {deadline - 1, 1},
		"at the deadline":              {deadline, 0},
		"long after it":                {time.Hour, 0},
		"by a clock that is ahead":     {-time.Hour, deadline},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			terminal := &conditions.Terminal{Reason: "Despair", Message: "in vain"}
			got := impatient(noon, noon.Add(-c.ago), deadline, &conditions.Waiting{Reason: "Hoping", Message: "soon"}, terminal)
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

func TestHolds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want bool
	}{
		"nothing told yet":         {tokyo(), false},
		"this":                     {tokyo(since(0, conditions.Degraded, "in vain", 3)), true},
		"this, of an earlier spec": {tokyo(since(0, conditions.Degraded, "in vain", 2)), true},
		"another message":          {tokyo(since(0, conditions.Degraded, "soon", 3)), false},
		"another condition":        {tokyo(since(0, conditions.Progressing, "in vain", 3)), false},
		"not any longer":           {tokyo(since(0, conditions.Degraded, "in vain", 3), denied), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := holds(c.dojo, conditions.Degraded, "in vain") != nil; got != c.want {
				t.Errorf("holds is %v", got)
			}
		})
	}
}

func denied(d *corev1api.Dojo) {
	d.Status.Conditions[0].Status = metav1.ConditionFalse
}
