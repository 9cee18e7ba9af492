package dojo

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestPlanBudget(t *testing.T) {
	t.Parallel()
	settled := settledWorld(t, tokyo()).budget
	altered := settled.DeepCopy()
	altered.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	cases := map[string]struct {
		live                    *policyv1.PodDisruptionBudget
		replicas                int32
		writes, exists, removes bool
	}{
		"none needed":           {nil, 0, false, false, false},
		"none for a single pod": {nil, 1, false, false, false},
		"first":                 {nil, 2, true, false, false},
		"there":                 {settled, 2, false, false, false},
		"altered":               {altered, 3, true, true, false},
		"no longer needed":      {settled, 1, false, false, true},
		"a stranger's":          {&policyv1.PodDisruptionBudget{ObjectMeta: foreign}, 1, false, false, false},
		"scaled to nothing":     {settled, 0, false, false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			write, remove := planBudget(tokyo(), c.live, c.replicas)
			if (write != nil) != c.writes || write != nil && write.exists != c.exists || (remove != nil) != c.removes {
				t.Errorf("writes %+v, removes %v", write, remove)
			}
			if remove != nil && remove.object != c.live {
				t.Error("removes another object than the one that is there")
			}
		})
	}
}

func TestBudgetLetsNodesDrain(t *testing.T) {
	t.Parallel()
	got := settledWorld(t, tokyo()).budget
	want := policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable:             ptr.To(intstr.FromInt32(1)),
		Selector:                   &metav1.LabelSelector{MatchLabels: selector(tokyo())},
		UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Error(diff)
	}
}
