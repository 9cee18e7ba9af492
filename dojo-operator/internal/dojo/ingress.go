package dojo

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func ingressFor(d *corev1api.Dojo) *networkingv1ac.IngressApplyConfiguration {
	want := d.Spec.Ingress
	spec := networkingv1ac.IngressSpec().
		WithRules(networkingv1ac.IngressRule().WithHost(want.Host).WithHTTP(networkingv1ac.HTTPIngressRuleValue().
			WithPaths(networkingv1ac.HTTPIngressPath().
				WithPath("/").
				WithPathType(networkingv1.PathTypePrefix).
				WithBackend(networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
					WithName(d.Name).
					WithPort(networkingv1ac.ServiceBackendPort().WithName(portName)))))))
	if want.ClassName != "" {
		spec.WithIngressClassName(want.ClassName)
	}
	if want.TLSSecretName != "" {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(want.Host).WithSecretName(want.TLSSecretName))
	}
	return networkingv1ac.Ingress(d.Name, d.Namespace).
		WithLabels(labels(d)).
		WithOwnerReferences(ownedBy(d)).
		WithSpec(spec)
}

// planIngress returns the Ingress where it has to be written, or the live one where it has to go.
func planIngress(d *corev1api.Dojo, live *networkingv1.Ingress) (*child, *leftover) {
	if taken(d, live) || d.Spec.Ingress == nil && live == nil {
		return nil, nil
	}
	if d.Spec.Ingress == nil {
		return nil, &leftover{kindIngress, live}
	}
	want := ingressFor(d)
	if settled(live, want, networkingv1ac.ExtractIngress) {
		return nil, nil
	}
	return newChild(kindIngress, live, want, want.ObjectMetaApplyConfiguration), nil
}
