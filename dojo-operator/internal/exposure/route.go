// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/conditions"
)

// routeFor also sets fields that have defaults. Server-side apply treats the lists as atomic, so a
// list without its defaults would differ from the live list
// (https://gateway-api.sigs.k8s.io/reference/spec/#httproute).
func routeFor(dojo *corev1api.Dojo, to Service) *unstructured.Unstructured {
	want := dojo.Spec.Exposure
	var parents, hosts []any
	for _, ref := range want.Gateway.ParentRefs {
		parent := map[string]any{"group": Group, "kind": "Gateway", "name": ref.Name}
		if ref.Namespace != "" {
			parent["namespace"] = ref.Namespace
		}
		if ref.SectionName != "" {
			parent["sectionName"] = ref.SectionName
		}
		parents = append(parents, parent)
	}
	for _, host := range want.Hosts {
		hosts = append(hosts, string(host))
	}
	return ownership.Child(dojo, routeKind.GroupVersionKind, dojo.Name, map[string]any{
		"parentRefs": parents,
		"hostnames":  hosts,
		"rules": []any{map[string]any{
			"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
			"backendRefs": []any{map[string]any{
				"group": "", "kind": "Service", "name": dojo.Name, "port": int64(to.Port), "weight": int64(1),
			}},
		}},
	})
}

type parentStatus struct {
	ParentRef  corev1api.GatewayReference `json:"parentRef"`
	Conditions []metav1.Condition         `json:"conditions"`
}

// Conditions of an HTTPRoute (https://gateway-api.sigs.k8s.io/geps/gep-1364/).
const (
	conditionAccepted     = "Accepted"
	conditionResolvedRefs = "ResolvedRefs"
)

func routeIssue(dojo *corev1api.Dojo, s State, written bool, cfg Config) *conditions.Issue {
	var all []parentStatus
	if s.Route != nil && !written {
		all = reported(s.Route)
	}
	var waiting *conditions.Issue
	for _, ref := range dojo.Spec.Exposure.Gateway.ParentRefs {
		taken, refused := reportFor(ref, dojo.Namespace, all)
		switch {
		case refused != nil:
			return conditions.Degraded(corev1api.ReasonRouteRefused, "The controller of the Gateway %s refuses the HTTPRoute "+
				"%s/%s: %s=False (%s): %s. Change spec.exposure, or the listeners of the Gateway.",
				nameOf(ref, dojo.Namespace), dojo.Namespace, dojo.Name, refused.Type, refused.Reason,
				strings.TrimSuffix(cmp.Or(refused.Message, "no message"), "."))
		// Report only one Gateway without an answer: the status has room for few issues.
		case !taken && waiting == nil:
			waiting = waitForGateway(dojo, s, ref, cfg)
		}
	}
	return waiting
}

func waitForGateway(dojo *corev1api.Dojo, s State, ref corev1api.GatewayReference, cfg Config) *conditions.Issue {
	gateway := nameOf(ref, dojo.Namespace)
	object := "Gateway " + gateway
	return conditions.WaitUntil(s.Now, dojo.WaitingSince(object, s.Now), cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForGateway,
			"Waiting for the controller of the Gateway %s to accept the HTTPRoute.", gateway).For(object),
		conditions.Degraded(corev1api.ReasonGatewayNotReady, "No controller of the Gateway %s has reported on the "+
			"HTTPRoute %s/%s. Create the Gateway, name another Gateway in spec.exposure.gateway, or find out why the "+
			"controller does not answer. See `kubectl describe gateways.gateway.networking.k8s.io %s -n "+
			"%s`.", gateway, dojo.Namespace, dojo.Name,
			ref.Name, cmp.Or(ref.Namespace, dojo.Namespace)).For(object))
}

// accepted reports whether a Gateway in the spec has accepted the HTTPRoute. Unlike serves, it
// ignores Gateways that the spec no longer names.
func accepted(dojo *corev1api.Dojo, s State) bool {
	if s.Route == nil || ownership.Conflicts(dojo, s.Route) {
		return false
	}
	all := reported(s.Route)
	return slices.ContainsFunc(dojo.Spec.Exposure.Gateway.ParentRefs, func(ref corev1api.GatewayReference) bool {
		taken, refused := reportFor(ref, dojo.Namespace, all)
		return taken && refused == nil
	})
}

func serves(dojo *corev1api.Dojo, route *unstructured.Unstructured) bool {
	if route == nil || ownership.Conflicts(dojo, route) {
		return false
	}
	return slices.ContainsFunc(reported(route), func(p parentStatus) bool {
		return meta.IsStatusConditionTrue(p.Conditions, conditionAccepted)
	})
}

// reportFor returns whether the Gateway ref has accepted the HTTPRoute, or the condition of a
// refusal. If several controllers have reported, an acceptance has priority over a refusal.
func reportFor(
	ref corev1api.GatewayReference, namespace string, all []parentStatus,
) (taken bool, refused *metav1.Condition) {
	for _, status := range all {
		of := status.ParentRef
		if of.Name != ref.Name || of.SectionName != ref.SectionName ||
			cmp.Or(of.Namespace, namespace) != cmp.Or(ref.Namespace, namespace) {
			continue
		}
		var refusal *metav1.Condition
		for _, kind := range []string{conditionResolvedRefs, conditionAccepted} {
			if c := meta.FindStatusCondition(status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
				refusal = c
			}
		}
		switch {
		case refusal == nil && meta.IsStatusConditionTrue(status.Conditions, conditionAccepted):
			return true, nil
		case refusal != nil:
			refused = refusal
		}
	}
	return false, refused
}

func reported(route *unstructured.Unstructured) []parentStatus {
	var object struct {
		Status struct {
			Parents []parentStatus `json:"parents"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(route.Object, &object); err != nil {
		return nil // the CRD of this name is not from the Gateway API
	}
	for i, parent := range object.Status.Parents {
		object.Status.Parents[i].Conditions = slices.DeleteFunc(parent.Conditions, func(c metav1.Condition) bool {
			return c.ObservedGeneration != 0 && c.ObservedGeneration < route.GetGeneration()
		})
	}
	return object.Status.Parents
}

func nameOf(ref corev1api.GatewayReference, namespace string) string {
	name := fmt.Sprintf("%s/%s", cmp.Or(ref.Namespace, namespace), ref.Name)
	if ref.SectionName != "" {
		name += " (listener " + ref.SectionName + ")"
	}
	return name
}
