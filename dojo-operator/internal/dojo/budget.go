package dojo

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func budgetFor(d *corev1api.Dojo) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(d.Name, d.Namespace).
		WithLabels(labels(d)).
		WithOwnerReferences(ownedBy(d)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(d))).
			// A pod that is not ready serves nobody: it must not keep a node from being drained.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}

// planBudget returns the PodDisruptionBudget where it has to be written, and the live one where it has to go: with a single
// replica it would only stop nodes from being drained.
func planBudget(d *corev1api.Dojo, live *policyv1.PodDisruptionBudget, replicas int32) (*child, *leftover) {
	if taken(d, live) || replicas <= 1 && live == nil {
		return nil, nil
	}
	if replicas <= 1 {
		return nil, &leftover{kindBudget, live}
	}
	want := budgetFor(d)
	if settled(live, want, policyv1ac.ExtractPodDisruptionBudget) {
		return nil, nil
	}
	return newChild(kindBudget, live, want, want.ObjectMetaApplyConfiguration), nil
}
