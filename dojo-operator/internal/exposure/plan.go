// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Service has the port of the Kubernetes Service to which the Ingress or HTTPRoute sends requests.
type Service struct {
	PortName string
	Port     int32
}

// Plan plans a Dojo's Ingress and HTTPRoute.
func Plan(dojo *corev1api.Dojo, s State, to Service, cfg Config) (p apply.Plan) {
	var ingress, route *unstructured.Unstructured
	switch want := dojo.Spec.Exposure; {
	case want == nil:
	case want.Gateway != nil:
		route = routeFor(dojo, to)
	default:
		ingress = apply.Typed(ingressFor(dojo, to))
	}
	served := route != nil && accepted(dojo, s) && s.Route.GetDeletionTimestamp() == nil
	stays := route != nil && !served && s.Ingress != nil && !ownership.Conflicts(dojo, s.Ingress)
	made := ownership.PlanOption(dojo, &p, "Ingress", s.Ingress, ingress != nil || stays, ingress, s.Unchanged)
	if s.NoRoutes {
		if route != nil {
			p.Report(conditions.Degraded(corev1api.ReasonGatewayAPINotInstalled, "spec.exposure.gateway needs the "+
				"Gateway API (https://gateway-api.sigs.k8s.io), but this cluster does not have its kind %s, or does not let "+
				"dojo-operator read it. Install the Gateway API, or see docs/platform/rbac.md; the Dojo then continues "+
				"automatically.", routeKind.Kind))
		}
		return p
	}
	if ingress != nil && serves(dojo, s.Route) && (made != nil || !hasAddress(dojo, s.Ingress)) {
		p.Report(waitForIngress(dojo, s, cfg))
		return p
	}
	written := ownership.PlanOption(dojo, &p, routeKind.Kind, s.Route, route != nil, route, s.Unchanged)
	if route != nil && !ownership.Conflicts(dojo, s.Route) {
		p.Report(routeIssue(dojo, s, written != nil, cfg))
	}
	return p
}

// hasAddress is false for an Ingress that is being deleted: its address remains until its finalizers
// are gone, such as after two quick switches.
func hasAddress(dojo *corev1api.Dojo, live *networkingv1.Ingress) bool {
	return live != nil && live.DeletionTimestamp == nil && !ownership.Conflicts(dojo, live) &&
		len(live.Status.LoadBalancer.Ingress) > 0
}

// waitForIngress has a deadline, because some controllers never report an address of the Ingress.
func waitForIngress(dojo *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	object := fmt.Sprintf("Ingress %s/%s", dojo.Namespace, dojo.Name)
	return conditions.WaitUntil(s.Now, dojo.WaitingSince(object, s.Now), cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForIngress,
			"Waiting for an address of the %s. The HTTPRoute is deleted after that.", object).For(object),
		conditions.Degraded(corev1api.ReasonIngressNotReady,
			"No controller has reported an address of the %[1]s, so the HTTPRoute stays, and requests go through its "+
				"Gateway. See `kubectl describe ingresses.networking.k8s.io %[2]s -n %[3]s`, and check "+
				"spec.exposure.ingress.className. If the Ingress works without an address, delete the HTTPRoute: `kubectl "+
				"delete httproutes.gateway.networking.k8s.io %[2]s -n %[3]s`.",
			object, dojo.Name, dojo.Namespace).For(object))
}

func ingressFor(dojo *corev1api.Dojo, to Service) *networkingv1ac.IngressApplyConfiguration {
	want := dojo.Spec.Exposure
	spec := networkingv1ac.IngressSpec()
	var hosts []string
	for _, host := range want.Hosts {
		hosts = append(hosts, string(host))
		spec.WithRules(networkingv1ac.IngressRule().WithHost(string(host)).WithHTTP(networkingv1ac.HTTPIngressRuleValue().
			WithPaths(networkingv1ac.HTTPIngressPath().
				WithPath("/").
				WithPathType(networkingv1.PathTypePrefix).
				WithBackend(networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
					WithName(dojo.Name).
					WithPort(networkingv1ac.ServiceBackendPort().WithName(to.PortName)))))))
	}
	if want.Ingress.ClassName != "" {
		spec.WithIngressClassName(want.Ingress.ClassName)
	}
	if want.TLS != nil {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(hosts...).WithSecretName(want.TLS.SecretName))
	}
	ingress := networkingv1ac.Ingress(dojo.Name, dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Application)).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithSpec(spec)
	if len(want.Ingress.Annotations) > 0 {
		ingress.WithAnnotations(want.Ingress.Annotations)
	}
	return ingress
}
