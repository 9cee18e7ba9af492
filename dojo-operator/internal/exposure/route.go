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

// routeFor is the HTTPRoute. Its lists are atomic, so that they hold the API server's defaults too.
// https://gateway-api.sigs.k8s.io/reference/spec/#httproute
func routeFor(d *corev1api.Dojo, to Service) *unstructured.Unstructured {
	want := d.Spec.Exposure
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
	return ownership.Child(d, routeKind.GroupVersionKind, d.Name, map[string]any{
		"parentRefs": parents,
		"hostnames":  hosts,
		"rules": []any{map[string]any{
			"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
			"backendRefs": []any{map[string]any{
				"group": "", "kind": "Service", "name": d.Name, "port": int64(to.Port), "weight": int64(1),
			}},
		}},
	})
}

// parentStatus is what one controller says of a route for one of its Gateways.
type parentStatus struct {
	ParentRef  corev1api.GatewayReference `json:"parentRef"`
	Conditions []metav1.Condition         `json:"conditions"`
}

// The conditions of a route for a Gateway.
// https://gateway-api.sigs.k8s.io/geps/gep-1364/
const (
	conditionAccepted     = "Accepted"
	conditionResolvedRefs = "ResolvedRefs"
)

// routeIssue is what keeps requests from the application: what the controller of a Gateway says of the
// route, or that none says anything. written is whether the route is being written.
func routeIssue(d *corev1api.Dojo, s State, written bool, cfg Config) *conditions.Issue {
	var all []parentStatus
	if s.Route != nil && !written {
		all = reported(s.Route)
	}
	var waiting *conditions.Issue
	for _, ref := range d.Spec.Exposure.Gateway.ParentRefs {
		taken, refused := about(ref, d.Namespace, all)
		switch {
		case refused != nil:
			return conditions.Degraded(corev1api.ReasonRouteRefused, "The controller of the Gateway %s reports of the "+
				"HTTPRoute %s/%s %s=False (%s): %s. Change spec.exposure, or the listeners of the Gateway.",
				nameOf(ref, d.Namespace), d.Namespace, d.Name, refused.Type, refused.Reason,
				strings.TrimSuffix(cmp.Or(refused.Message, "no message"), "."))
		case !taken && waiting == nil: // one of them, since the status has room for few
			waiting = waitForGateway(d, s, ref, cfg)
		}
	}
	return waiting
}

func waitForGateway(d *corev1api.Dojo, s State, ref corev1api.GatewayReference, cfg Config) *conditions.Issue {
	gateway := nameOf(ref, d.Namespace)
	object := "Gateway " + gateway
	return conditions.WaitUntil(s.Now, d.WaitingSince(object, s.Now), cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForGateway,
			"Waiting for the controller of the Gateway %s to accept the HTTPRoute.", gateway).For(object),
		conditions.Degraded(corev1api.ReasonGatewayNotReady, "No controller of the Gateway %s has reported on the HTTPRoute "+
			"%s/%s. Create the Gateway, name another one in spec.exposure.gateway, or see why its controller does not run: "+
			"`kubectl describe gateways -A`.", gateway, d.Namespace, d.Name).For(object))
}

// accepted reports whether at least one Gateway serves the route as the spec has it.
func accepted(d *corev1api.Dojo, s State) bool {
	if s.Route == nil || ownership.Conflicts(d, s.Route) {
		return false
	}
	all := reported(s.Route)
	return slices.ContainsFunc(d.Spec.Exposure.Gateway.ParentRefs, func(ref corev1api.GatewayReference) bool {
		taken, refused := about(ref, d.Namespace, all)
		return taken && refused == nil
	})
}

// serves reports whether a Gateway serves a route of the Dojo as it is, whatever the spec says now.
func serves(d *corev1api.Dojo, route *unstructured.Unstructured) bool {
	if route == nil || ownership.Conflicts(d, route) {
		return false
	}
	return slices.ContainsFunc(reported(route), func(p parentStatus) bool {
		return meta.IsStatusConditionTrue(p.Conditions, conditionAccepted)
	})
}

// about is what the controllers report for one of the Gateways: whether one of them has accepted the
// route, and the condition with which one refuses it, nil where none does. Of several controllers, which
// take a Gateway for their own while it moves from one to the other, one that accepts is enough.
func about(
	ref corev1api.GatewayReference, namespace string, all []parentStatus,
) (taken bool, refused *metav1.Condition) {
	for _, status := range all {
		of := status.ParentRef
		if of.Name != ref.Name || of.SectionName != ref.SectionName ||
			cmp.Or(of.Namespace, namespace) != cmp.Or(ref.Namespace, namespace) {
			continue
		}
		var no *metav1.Condition
		for _, kind := range []string{conditionResolvedRefs, conditionAccepted} {
			if c := meta.FindStatusCondition(status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
				no = c
			}
		}
		switch {
		case no == nil && meta.IsStatusConditionTrue(status.Conditions, conditionAccepted):
			return true, nil
		case no != nil:
			refused = no
		}
	}
	return false, refused
}

// reported is what the controllers of Gateways say of a route as it is now, and not of an earlier
// generation of it.
func reported(route *unstructured.Unstructured) []parentStatus {
	var of struct {
		Status struct {
			Parents []parentStatus `json:"parents"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(route.Object, &of); err != nil {
		return nil // a kind of this name that is not the Gateway API's
	}
	for i, parent := range of.Status.Parents {
		of.Status.Parents[i].Conditions = slices.DeleteFunc(parent.Conditions, func(c metav1.Condition) bool {
			return c.ObservedGeneration != 0 && c.ObservedGeneration < route.GetGeneration()
		})
	}
	return of.Status.Parents
}

// nameOf is the namespace and name of a Gateway, with the listener where the reference has one.
func nameOf(ref corev1api.GatewayReference, namespace string) string {
	name := fmt.Sprintf("%s/%s", cmp.Or(ref.Namespace, namespace), ref.Name)
	if ref.SectionName != "" {
		name += " (listener " + ref.SectionName + ")"
	}
	return name
}
