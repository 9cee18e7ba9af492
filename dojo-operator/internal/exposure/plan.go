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

// Service is the Service of the Dojo's name.
type Service struct {
	PortName string
	Port     int32
}

// Plan plans the Ingress or the HTTPRoute of a Dojo.
func Plan(d *corev1api.Dojo, s State, to Service, cfg Config) (p apply.Plan) {
	var ingress, route *unstructured.Unstructured
	switch want := d.Spec.Exposure; {
	case want == nil:
	case want.Gateway != nil:
		route = routeFor(d, to)
	default:
		ingress = apply.Typed(ingressFor(d, to))
	}
	stays := route != nil && !accepted(d, s) && s.Ingress != nil && !ownership.Conflicts(d, s.Ingress)
	made := ownership.PlanOption(d, &p, "Ingress", s.Ingress, ingress != nil || stays, ingress, s.Unchanged)
	if s.NoRoutes {
		if route != nil {
			p.Report(conditions.Degraded(corev1api.ReasonGatewayAPINotInstalled, "spec.exposure.gateway needs the "+
				"Gateway API (https://gateway-api.sigs.k8s.io), and this cluster does not have its kind %s. "+
				"Install it; the Dojo then continues automatically.", routeKind.Kind))
		}
		return p
	}
	if ingress != nil && serves(d, s.Route) && (made != nil || !hasAddress(d, s.Ingress)) {
		p.Report(waitForIngress(d, s, cfg))
		return p
	}
	written := ownership.PlanOption(d, &p, routeKind.Kind, s.Route, route != nil, route, s.Unchanged)
	if route != nil && !ownership.Conflicts(d, s.Route) {
		p.Report(routeIssue(d, s, written != nil, cfg))
	}
	return p
}

func hasAddress(d *corev1api.Dojo, live *networkingv1.Ingress) bool {
	return live != nil && !ownership.Conflicts(d, live) && len(live.Status.LoadBalancer.Ingress) > 0
}

// Some controllers report no address of an Ingress, so a user may delete the HTTPRoute.
func waitForIngress(d *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	object := fmt.Sprintf("Ingress %s/%s", d.Namespace, d.Name)
	return conditions.WaitUntil(s.Now, d.WaitingSince(object, s.Now), cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForIngress,
			"Waiting for an address of the %s, before the HTTPRoute is deleted.", object).For(object),
		conditions.Degraded(corev1api.ReasonIngressNotReady,
			"No controller has reported an address of the %s, so that the HTTPRoute stays, and requests go through its "+
				"Gateway. See `kubectl describe ingress -n %s %s`, and correct spec.exposure.ingress.className. "+
				"If the Ingress serves without, `kubectl delete httproute -n %s %s`.",
			object, d.Namespace, d.Name, d.Namespace, d.Name).For(object))
}

func ingressFor(d *corev1api.Dojo, to Service) *networkingv1ac.IngressApplyConfiguration {
	want := d.Spec.Exposure
	spec := networkingv1ac.IngressSpec()
	var hosts []string
	for _, host := range want.Hosts {
		hosts = append(hosts, string(host))
		spec.WithRules(networkingv1ac.IngressRule().WithHost(string(host)).WithHTTP(networkingv1ac.HTTPIngressRuleValue().
			WithPaths(networkingv1ac.HTTPIngressPath().
				WithPath("/").
				WithPathType(networkingv1.PathTypePrefix).
				WithBackend(networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
					WithName(d.Name).
					WithPort(networkingv1ac.ServiceBackendPort().WithName(to.PortName)))))))
	}
	if want.Ingress.ClassName != "" {
		spec.WithIngressClassName(want.Ingress.ClassName)
	}
	if want.TLS != nil {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(hosts...).WithSecretName(want.TLS.SecretName))
	}
	ingress := networkingv1ac.Ingress(d.Name, d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Application)).
		WithOwnerReferences(ownership.Reference(d)).
		WithSpec(spec)
	if len(want.Ingress.Annotations) > 0 {
		ingress.WithAnnotations(want.Ingress.Annotations)
	}
	return ingress
}
