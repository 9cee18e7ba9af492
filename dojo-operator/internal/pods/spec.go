// SPDX-License-Identifier: Apache-2.0

package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
)

// workingDir is the only place that a container can write to.
const workingDir = "/tmp"

// Users says as whom pods run.
type Users struct {
	// ByPlatform leaves the user and the groups to the platform: OpenShift's restricted
	// SecurityContextConstraints refuse any that are not of the namespace's own range.
	ByPlatform bool
}

// Spec is a pod with one container, placed as the spec of the Dojo says, which passes "restricted"
// pod security as this unprivileged user and group, unless users says otherwise, has no access to
// the API server, and has a working directory of this size.
func Spec(
	d *corev1api.Dojo, user int64, users Users, size string, container *corev1ac.ContainerApplyConfiguration,
) *corev1ac.PodSpecApplyConfiguration {
	security := corev1ac.PodSecurityContext().WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if !users.ByPlatform {
		security.WithRunAsUser(user).WithRunAsGroup(user).WithFSGroup(user)
	}
	pod := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(security).
		WithVolumes(corev1ac.Volume().WithName("tmp").
			WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(resource.MustParse(size)))).
		WithContainers(container.
			WithWorkingDir(workingDir).
			WithVolumeMounts(corev1ac.VolumeMount().WithName("tmp").WithMountPath(workingDir)).
			WithSecurityContext(corev1ac.SecurityContext().
				WithAllowPrivilegeEscalation(false).
				WithReadOnlyRootFilesystem(true).
				WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))))
	place(d, pod)
	return pod
}

// place sets where pods may run and how their images are pulled.
func place(d *corev1api.Dojo, pod *corev1ac.PodSpecApplyConfiguration) {
	for _, secret := range d.Spec.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	if len(d.Spec.NodeSelector) > 0 {
		pod.WithNodeSelector(d.Spec.NodeSelector)
	}
	for i := range d.Spec.Tolerations {
		pod.WithTolerations(apply.As[*corev1ac.TolerationApplyConfiguration](d.Spec.Tolerations[i]))
	}
	if d.Spec.Affinity != nil {
		pod.WithAffinity(apply.As[*corev1ac.AffinityApplyConfiguration](d.Spec.Affinity))
	}
}
