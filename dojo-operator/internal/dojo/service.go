package dojo

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// servicePort is where clients reach the application.
const servicePort = 80

func serviceFor(d *corev1api.Dojo) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(d.Name, d.Namespace).
		WithLabels(labels(d)).
		WithOwnerReferences(ownedBy(d)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(selector(d)).
			WithPorts(corev1ac.ServicePort().
				WithName(portName).
				WithPort(servicePort).
				WithProtocol(corev1.ProtocolTCP).
				WithTargetPort(intstr.FromString(portName))))
}

// planService returns the Service where it has to be written.
func planService(d *corev1api.Dojo, live *corev1.Service) *child {
	want := serviceFor(d)
	if settled(live, want, corev1ac.ExtractService) {
		return nil
	}
	return newChild(kindService, live, want, want.ObjectMetaApplyConfiguration)
}

func endpoint(d *corev1api.Dojo) string {
	return fmt.Sprintf("%s.%s.svc:%d", d.Name, d.Namespace, servicePort)
}
