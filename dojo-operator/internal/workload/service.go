// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// ServicePort is the port at which clients reach the application.
const ServicePort = 80

func serviceFor(dojo *corev1api.Dojo) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(dojo.Name, dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Application)).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(ownership.Selector(dojo)).
			WithPorts(corev1ac.ServicePort().
				WithName(PortName).
				WithPort(ServicePort).
				WithProtocol(corev1.ProtocolTCP).
				WithTargetPort(intstr.FromString(PortName))))
}

func planService(dojo *corev1api.Dojo, s State) *apply.Object {
	return apply.Sync(ownership.FieldOwner, s.Service, apply.Typed(serviceFor(dojo)), s.Unchanged)
}

// Endpoint returns the address of the application inside the cluster.
func Endpoint(dojo *corev1api.Dojo) string {
	return fmt.Sprintf("%s.%s.svc:%d", dojo.Name, dojo.Namespace, ServicePort)
}
