// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	poolerLabel = "cnpg.io/poolerName"
	poolerImage = "ghcr.io/cloudnative-pg/pgbouncer:standin"
)

// playPooler ignores a Pooler with the name of a Cluster. It writes no status if the Deployment or
// the Service belongs to another owner (internal/controller/pooler_controller.go).
func (s *StandIn) playPooler(ctx context.Context, o *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "cluster", "name")
	if o.GetDeletionTimestamp() != nil || s.isPaused(o.GetNamespace(), name) ||
		s.get(ctx, "Cluster", o.GetNamespace(), o.GetName()) != nil {
		return nil
	}
	if s.get(ctx, "Cluster", o.GetNamespace(), name) == nil {
		return s.setStatus(ctx, o, map[string]any{
			"phase": "inactive", "phaseReason": fmt.Sprintf("Cluster %q not found", name),
		})
	}
	wanted, found, _ := unstructured.NestedInt64(o.Object, "spec", "instances")
	if !found {
		wanted = 1
	}
	service := &corev1.Service{ObjectMeta: poolerMeta(o, name), Spec: corev1.ServiceSpec{
		Selector: map[string]string{poolerLabel: o.GetName()},
		Ports:    []corev1.ServicePort{{Name: "pgbouncer", Port: 5432, TargetPort: intstr.FromString("pgbouncer")}},
	}}
	if err := s.createOnce(ctx, o, service); err != nil {
		return err
	}
	deployment := poolerDeployment(o, name)
	if err := s.createOnce(ctx, o, deployment); err != nil {
		return err
	}
	if !metav1.IsControlledBy(deployment, o) || !metav1.IsControlledBy(service, o) {
		return nil
	}
	if replicas := int32(wanted); *deployment.Spec.Replicas != replicas {
		before := deployment.DeepCopy()
		deployment.Spec.Replicas = &replicas
		if err := s.client.Patch(ctx, deployment, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return s.setStatus(ctx, o, map[string]any{
		"phase": "active", "phaseReason": nil, "image": poolerImage, "instances": int64(deployment.Status.Replicas),
	})
}

func poolerMeta(pooler *unstructured.Unstructured, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: pooler.GetNamespace(), Name: pooler.GetName(), Labels: map[string]string{
			clusterLabel: cluster, poolerLabel: pooler.GetName(), "cnpg.io/podRole": "pooler",
			"app.kubernetes.io/managed-by": "cloudnative-pg",
		},
	}
}

// The pods comply with pod security "restricted", as CloudNativePG's do.
func poolerDeployment(pooler *unstructured.Unstructured, cluster string) *appsv1.Deployment {
	meta := poolerMeta(pooler, cluster)
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{poolerLabel: pooler.GetName()}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
			Spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(998)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: "pgbouncer", Image: poolerImage, Ports: []corev1.ContainerPort{{Name: "pgbouncer", ContainerPort: 5432}},
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
			},
		},
	}}
}
