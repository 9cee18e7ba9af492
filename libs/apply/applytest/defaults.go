// SPDX-License-Identifier: Apache-2.0

package applytest

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// defaulter sets the defaults that the API server gives to the built-in kinds of the operators'
// objects, for the fields that these objects use. Source: pkg/apis/*/*/defaults.go of Kubernetes.
type defaulter struct{}

func (defaulter) Default(o runtime.Object) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		defaultDeployment(&o.Spec)
		defaultPod(&o.Spec.Template.Spec)
	case *corev1.Service:
		defaultService(&o.Spec)
	case *corev1.Secret:
		orDefault(&o.Type, corev1.SecretTypeOpaque)
	case *batchv1.Job:
		defaultJob(&o.Spec)
		defaultPod(&o.Spec.Template.Spec)
	case *corev1.Pod:
		orDefault(&o.Spec.EnableServiceLinks, ptr.To(true))
		defaultPod(&o.Spec)
	}
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func defaultDeployment(spec *appsv1.DeploymentSpec) {
	orDefault(&spec.Replicas, ptr.To[int32](1))
	orDefault(&spec.RevisionHistoryLimit, ptr.To[int32](10))
	orDefault(&spec.ProgressDeadlineSeconds, ptr.To[int32](600))
	orDefault(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		orDefault(&spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
		orDefault(&spec.Strategy.RollingUpdate.MaxSurge, ptr.To(intstr.FromString("25%")))
		orDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, ptr.To(intstr.FromString("25%")))
	}
}

func defaultJob(spec *batchv1.JobSpec) {
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = ptr.To[int32](1)
	}
	orDefault(&spec.Parallelism, ptr.To[int32](1))
	orDefault(&spec.BackoffLimit, ptr.To[int32](6))
	orDefault(&spec.CompletionMode, ptr.To(batchv1.NonIndexedCompletion))
	orDefault(&spec.Suspend, ptr.To(false))
	orDefault(&spec.PodReplacementPolicy, ptr.To(batchv1.TerminatingOrFailed))
}

func defaultService(spec *corev1.ServiceSpec) {
	orDefault(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	orDefault(&spec.Type, corev1.ServiceTypeClusterIP)
	orDefault(&spec.InternalTrafficPolicy, ptr.To(corev1.ServiceInternalTrafficPolicyCluster))
	for i := range spec.Ports {
		port := &spec.Ports[i]
		orDefault(&port.Protocol, corev1.ProtocolTCP)
		orDefault(&port.TargetPort, intstr.FromInt32(port.Port))
	}
}

func defaultPod(spec *corev1.PodSpec) {
	orDefault(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orDefault(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orDefault(&spec.SecurityContext, &corev1.PodSecurityContext{})
	orDefault(&spec.TerminationGracePeriodSeconds, ptr.To[int64](30))
	orDefault(&spec.SchedulerName, corev1.DefaultSchedulerName)
	for i := range spec.Volumes {
		source := &spec.Volumes[i].VolumeSource
		if source.Secret != nil {
			orDefault(&source.Secret.DefaultMode, ptr.To[int32](0o644))
		}
		if source.ConfigMap != nil {
			orDefault(&source.ConfigMap.DefaultMode, ptr.To[int32](0o644))
		}
		if source.Projected != nil {
			orDefault(&source.Projected.DefaultMode, ptr.To[int32](0o644))
		}
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i])
	}
}

func defaultContainer(c *corev1.Container) {
	orDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	_, tag, tagged := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
	if pull := corev1.PullIfNotPresent; !tagged || tag == "latest" {
		orDefault(&c.ImagePullPolicy, corev1.PullAlways)
	} else {
		orDefault(&c.ImagePullPolicy, pull)
	}
	for i := range c.Ports {
		orDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			orDefault(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil {
			continue
		}
		orDefault(&probe.TimeoutSeconds, 1)
		orDefault(&probe.PeriodSeconds, 10)
		orDefault(&probe.SuccessThreshold, 1)
		orDefault(&probe.FailureThreshold, 3)
		if probe.HTTPGet != nil {
			defaultGet(probe.HTTPGet)
		}
	}
	if c.Lifecycle != nil {
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil && hook.HTTPGet != nil {
				defaultGet(hook.HTTPGet)
			}
		}
	}
}

func defaultGet(get *corev1.HTTPGetAction) {
	orDefault(&get.Path, "/")
	orDefault(&get.Scheme, corev1.URISchemeHTTP)
}

// allocate sets fields that the API server sets after field management, so they have no manager.
func allocate(o *unstructured.Unstructured) {
	spec, _ := o.Object["spec"].(map[string]any)
	switch o.GroupVersionKind() {
	case corev1.SchemeGroupVersion.WithKind("Service"):
		if ip, ok := spec["clusterIP"]; !ok || ip == "" {
			spec["clusterIP"], spec["clusterIPs"] = "10.0.0.7", []any{"10.0.0.7"}
		}
		spec["ipFamilies"], spec["ipFamilyPolicy"] = []any{"IPv4"}, "SingleStack"
	case batchv1.SchemeGroupVersion.WithKind("Job"):
		uid := string(o.GetUID())
		spec["selector"] = map[string]any{"matchLabels": map[string]any{batchv1.ControllerUidLabel: uid}}
		labels := map[string]string{batchv1.ControllerUidLabel: uid, batchv1.JobNameLabel: o.GetName()}
		for field, value := range labels {
			_ = unstructured.SetNestedField(o.Object, value, "spec", "template", "metadata", "labels", field)
		}
	}
}
