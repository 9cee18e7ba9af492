// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// addOptions adds the fields that only pods with the application's image have.
func addOptions(dojo *corev1api.Dojo, pod *corev1ac.PodSpecApplyConfiguration) {
	for i := range dojo.Spec.Volumes {
		pod.WithVolumes(volumeFor(&dojo.Spec.Volumes[i]))
	}
	if name := dojo.Spec.PriorityClassName; name != "" {
		pod.WithPriorityClassName(name)
	}
	if name := dojo.Spec.ServiceAccountName; name != "" {
		// The API server copies serviceAccountName and the deprecated serviceAccount to each other.
		// The operator must own both fields to remove the name.
		pod.WithServiceAccountName(name).WithDeprecatedServiceAccount(name)
		pod.AutomountServiceAccountToken = nil // the ServiceAccount decides
	}
}

func volumeFor(v *corev1api.Volume) *corev1ac.VolumeApplyConfiguration {
	volume := corev1ac.Volume().WithName(v.Name)
	switch {
	case v.ConfigMap != nil:
		return volume.WithConfigMap(corev1ac.ConfigMapVolumeSource().
			WithName(v.ConfigMap.Name).WithOptional(v.ConfigMap.Optional))
	case v.Secret != nil:
		return volume.WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(v.Secret.Name).WithOptional(v.Secret.Optional))
	case v.PersistentVolumeClaim != nil:
		return volume.WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().
			WithClaimName(v.PersistentVolumeClaim.ClaimName).WithReadOnly(v.PersistentVolumeClaim.ReadOnly))
	}
	limit, err := resource.ParseQuantity(v.EmptyDir.SizeLimit)
	if err != nil { // impossible: the schema admits only quantities
		limit = resource.MustParse("1Mi")
	}
	return volume.WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(limit))
}

func addContainerOptions(dojo *corev1api.Dojo, container *corev1ac.ContainerApplyConfiguration) {
	for _, source := range dojo.Spec.EnvFrom {
		from := corev1ac.EnvFromSource()
		if source.Prefix != "" {
			from.WithPrefix(source.Prefix)
		}
		if ref := source.ConfigMapRef; ref != nil {
			from.WithConfigMapRef(corev1ac.ConfigMapEnvSource().WithName(ref.Name).WithOptional(ref.Optional))
		}
		if ref := source.SecretRef; ref != nil {
			from.WithSecretRef(corev1ac.SecretEnvSource().WithName(ref.Name).WithOptional(ref.Optional))
		}
		container.WithEnvFrom(from)
	}
	for _, m := range dojo.Spec.VolumeMounts {
		mount := corev1ac.VolumeMount().WithName(m.Name).WithMountPath(m.MountPath)
		if m.SubPath != "" {
			mount.WithSubPath(m.SubPath)
		}
		if m.ReadOnly {
			mount.WithReadOnly(true)
		}
		container.WithVolumeMounts(mount)
	}
	if probes := dojo.Spec.Probes; probes != nil {
		if probes.Liveness != nil && probes.Liveness.Path != "" {
			container.StartupProbe.HTTPGet.WithPath(probes.Liveness.Path)
		}
		overrideProbe(container.StartupProbe, probes.Startup)
		overrideProbe(container.LivenessProbe, probes.Liveness)
		overrideProbe(container.ReadinessProbe, probes.Readiness)
	}
}

func overrideProbe(probe *corev1ac.ProbeApplyConfiguration, given *corev1api.Probe) {
	if given == nil {
		return
	}
	if given.Path != "" {
		probe.HTTPGet.WithPath(given.Path)
	}
	probe.InitialDelaySeconds = cmp.Or(given.InitialDelaySeconds, probe.InitialDelaySeconds)
	probe.PeriodSeconds = cmp.Or(given.PeriodSeconds, probe.PeriodSeconds)
	probe.TimeoutSeconds = cmp.Or(given.TimeoutSeconds, probe.TimeoutSeconds)
	probe.FailureThreshold = cmp.Or(given.FailureThreshold, probe.FailureThreshold)
}
