// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// servicePort is where clients reach the application.
const servicePort = 80

func serviceFor(d *corev1api.Dojo) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(d.Name, d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Application)).
		WithOwnerReferences(ownership.Reference(d)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(ownership.Selector(d)).
			WithPorts(corev1ac.ServicePort().
				WithName(PortName).
				WithPort(servicePort).
				WithProtocol(corev1.ProtocolTCP).
				WithTargetPort(intstr.FromString(PortName))))
}

// planService returns the Service where it has to be written.
func planService(d *corev1api.Dojo, s State) *apply.Object {
	return apply.Sync(ownership.FieldOwner, s.Service, apply.Typed(serviceFor(d)), s.Unchanged)
}

// Endpoint is where clients in the cluster reach the application.
func Endpoint(d *corev1api.Dojo) string {
	return fmt.Sprintf("%s.%s.svc:%d", d.Name, d.Namespace, servicePort)
}

func ingressFor(d *corev1api.Dojo) *networkingv1ac.IngressApplyConfiguration {
	want := d.Spec.Ingress
	spec := networkingv1ac.IngressSpec().
		WithRules(networkingv1ac.IngressRule().WithHost(want.Host).WithHTTP(networkingv1ac.HTTPIngressRuleValue().
			WithPaths(networkingv1ac.HTTPIngressPath().
				WithPath("/").
				WithPathType(networkingv1.PathTypePrefix).
				WithBackend(networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
					WithName(d.Name).
					WithPort(networkingv1ac.ServiceBackendPort().WithName(PortName)))))))
	if want.ClassName != "" {
		spec.WithIngressClassName(want.ClassName)
	}
	if want.TLSSecretName != "" {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(want.Host).WithSecretName(want.TLSSecretName))
	}
	return networkingv1ac.Ingress(d.Name, d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Application)).
		WithOwnerReferences(ownership.Reference(d)).
		WithSpec(spec)
}

// planIngress makes the Ingress where the spec asks for one.
func planIngress(d *corev1api.Dojo, s State, p *apply.Plan) {
	var desired *unstructured.Unstructured
	if d.Spec.Ingress != nil {
		desired = apply.Typed(ingressFor(d))
	}
	ownership.PlanOption(d, p, "Ingress", s.Ingress, desired != nil, desired, s.Unchanged)
}
