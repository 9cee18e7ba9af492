// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// Observed reports whether spec.managementPolicy is Observe.
func Observed(o interface {
	GetManagementPolicy() v1alpha1.ManagementPolicy
}) bool {
	return o.GetManagementPolicy() == v1alpha1.ManagementPolicyObserve
}

// setObserved sets InSync, which is False for differences. Ready stays True despite differences,
// because clients could otherwise wait for Ready forever.
func setObserved(o Object) {
	conds := slices.Clone(o.GetConditions())
	defer func() { o.SetConditions(conds) }()
	ready := meta.FindStatusCondition(conds, conditions.TypeReady)
	if !Observed(o) || ready == nil {
		meta.RemoveStatusCondition(&conds, v1alpha1.TypeInSync)
		return
	}
	is := metav1.Condition{
		Type: v1alpha1.TypeInSync, Status: metav1.ConditionUnknown, Reason: ready.Reason, Message: ready.Message,
		ObservedGeneration: o.GetGeneration(),
	}
	switch differences := o.GetDifferences(); {
	case len(differences) > 0:
		is.Status, is.Reason = metav1.ConditionFalse, v1alpha1.ReasonDifferencesFound
		is.Message = conditions.Truncated("The operator would change on Discord: " + strings.Join(differences, "; ") +
			". It does not, because spec.managementPolicy is Observe.")
	case ready.Status == metav1.ConditionTrue:
		is.Status, is.Reason = metav1.ConditionTrue, v1alpha1.ReasonObserved
		is.Message = "Discord matches the spec. The operator observes and changes nothing."
	}
	meta.SetStatusCondition(&conds, is)
	if ready = meta.FindStatusCondition(conds, conditions.TypeReady); ready.Status == metav1.ConditionTrue {
		ready.Reason, ready.Message = is.Reason, is.Message
	}
}
