// SPDX-License-Identifier: Apache-2.0

package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
)

const workingDir = "/tmp"

// Users says who selects the user that runs the containers of pods.
type Users struct {
	// If ByPlatform is true, pods do not name a user, because OpenShift's
	// SecurityContextConstraints select the user.
	ByPlatform bool
}

// Spec returns a pod with one container that passes "restricted" pod security. All pods that the
// operator plans use this spec.
func Spec(
	dojo *corev1api.Dojo, user int64, users Users, size string, container *corev1ac.ContainerApplyConfiguration,
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
	addScheduling(dojo, pod)
	return pod
}

func addScheduling(dojo *corev1api.Dojo, pod *corev1ac.PodSpecApplyConfiguration) {
	for _, secret := range dojo.Spec.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	if len(dojo.Spec.NodeSelector) > 0 {
		pod.WithNodeSelector(dojo.Spec.NodeSelector)
	}
	for i := range dojo.Spec.Tolerations {
		pod.WithTolerations(apply.As[*corev1ac.TolerationApplyConfiguration](dojo.Spec.Tolerations[i]))
	}
	if dojo.Spec.Affinity != nil {
		pod.WithAffinity(apply.As[*corev1ac.AffinityApplyConfiguration](dojo.Spec.Affinity))
	}
}

// KeepOutOfMeshes excludes a Job's pods from service meshes. The sidecar of a mesh never ends, so
// the Job would never complete.
func KeepOutOfMeshes(template *corev1ac.PodTemplateSpecApplyConfiguration) *corev1ac.PodTemplateSpecApplyConfiguration {
	return template.
		WithLabels(map[string]string{
			"sidecar.istio.io/inject": "false", "istio.io/dataplane-mode": "none", "kuma.io/sidecar-injection": "disabled",
		}).
		WithAnnotations(map[string]string{
			"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled",
			"consul.hashicorp.com/connect-inject": "false",
		})
}
