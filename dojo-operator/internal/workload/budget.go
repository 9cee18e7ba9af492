// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// budgetRetry is the pause before the operator checks a name conflict again. No event shows that
// the conflicting Dojo is gone.
const budgetRetry = time.Minute

func budgetFor(dojo *corev1api.Dojo) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(dojo.Name, dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Application)).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(ownership.Selector(dojo))).
			// A pod that is not ready must not block the drain of a node.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}

// planBudget wants a budget only for two or more replicas, because maxUnavailable 1 permits the
// eviction of a single replica anyway. It reports an issue if CloudNativePG needs the same name for
// a PodDisruptionBudget: CloudNativePG would overwrite or delete the Dojo's budget.
func planBudget(dojo *corev1api.Dojo, s State, p *apply.Plan) {
	if s.BudgetTakenBy != "" && s.Replicas(dojo) > 1 {
		p.Report(conditions.Degraded(corev1api.ReasonNameConflict,
			"The name of the PodDisruptionBudget %s/%s is reserved for the Cluster of the Dojo %s. Give one of the two Dojos "+
				"another name.",
			dojo.Namespace, dojo.Name, s.BudgetTakenBy).After(budgetRetry))
		return
	}
	desired := apply.Typed(budgetFor(dojo))
	budget := ownership.PlanOption(dojo, p, "PodDisruptionBudget", s.Budget, s.Replicas(dojo) > 1, desired, s.Unchanged)
	if budget != nil {
		budget.ReplaceSpec = desired.Object["spec"].(map[string]any)
	}
}
