// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

// Image returns the desired image of the application.
func Image(dojo *corev1api.Dojo, cfg Config) string { return cmp.Or(dojo.Spec.Image, cfg.Image) }

// CommandPod returns a pod that runs a command in the application's image and environment. It has
// no PersistentVolumeClaim, because a pod on another node may use the volume.
func CommandPod(
	dojo *corev1api.Dojo, access Credentials, name string, command []string, cfg Config,
) *corev1ac.PodSpecApplyConfiguration {
	dojo = dojo.DeepCopy()
	dojo.Spec.ServiceAccountName, dojo.Spec.PriorityClassName, dojo.Spec.Probes = "", "", nil
	claims := map[string]bool{}
	dojo.Spec.Volumes = slices.DeleteFunc(dojo.Spec.Volumes, func(v corev1api.Volume) bool {
		claims[v.Name] = v.PersistentVolumeClaim != nil
		return claims[v.Name]
	})
	dojo.Spec.VolumeMounts = slices.DeleteFunc(dojo.Spec.VolumeMounts, func(m corev1api.VolumeMount) bool {
		return claims[m.Name]
	})
	container := corev1ac.Container().
		WithName(name).
		WithImage(Image(dojo, cfg)).
		WithCommand(command...).
		WithEnv(environment(dojo, access)...).
		WithResources(resourcesFor(dojo))
	addContainerOptions(dojo, container)
	pod := pods.Spec(dojo, anyUser, cfg.Users, "64Mi", container)
	addOptions(dojo, pod)
	return pod
}

// keepTemplate keeps the operator's fields of the live template, except the image and the revision.
func keepTemplate(desired *unstructured.Unstructured, live *appsv1.Deployment, image, revision string) {
	owned := apply.Owned(ownership.FieldOwner, live)
	template, found, _ := unstructured.NestedMap(owned, "spec", "template")
	if !found { // another client owns all fields of the template
		template, _, _ = unstructured.NestedMap(desired.Object, "spec", "template")
	}
	_ = unstructured.SetNestedField(template, revision, "metadata", "annotations", ownership.RevisionAnnotation)
	containers, _, _ := unstructured.NestedSlice(template, "spec", "containers")
	for i := range containers {
		if c, ok := containers[i].(map[string]any); ok && c["name"] == containerName {
			c["image"] = image
		}
	}
	_ = unstructured.SetNestedSlice(template, containers, "spec", "containers")
	_ = unstructured.SetNestedMap(desired.Object, template, "spec", "template")
}
