// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

const (
	containerName = "dojo"
	// PortName is the name of the port of the pods and of the Service.
	PortName = "http"
	// appPort and the probe paths are part of the contract with the Dojo application.
	appPort       = 8080
	livenessPath  = "/probe/liveness"
	readinessPath = "/probe/readiness"
	// "restricted" pod security refuses root, and some images do not name a user.
	anyUser = 65532
	// drainSeconds lets a terminating pod serve until every proxy has removed the pod's endpoint.
	drainSeconds = 5
)

// deploymentFor omits spec.replicas if replicas is nil, because an autoscaler owns the field.
func deploymentFor(
	dojo *corev1api.Dojo, access Credentials, serving string, cfg Config, replicas *int32,
) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(ownership.Selector(dojo))).
		WithProgressDeadlineSeconds(int32(deadline(dojo, cfg).Seconds())).
		WithStrategy(appsv1ac.DeploymentStrategy().
			WithType(appsv1.RollingUpdateDeploymentStrategyType).
			WithRollingUpdate(rollingUpdate(dojo))).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(ownership.Labels(dojo, ownership.Application)).
			WithAnnotations(dojo.Spec.PodAnnotations).
			WithAnnotations(map[string]string{ownership.RevisionAnnotation: access.Revision}).
			WithSpec(podFor(dojo, access, serving, cfg)))
	if seconds := int32(minReady(dojo).Seconds()); seconds > 0 {
		spec.WithMinReadySeconds(seconds)
	}
	if replicas != nil {
		spec.WithReplicas(*replicas)
	}
	return appsv1ac.Deployment(dojo.Name, dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Application)).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithSpec(spec)
}

func rollingUpdate(dojo *corev1api.Dojo) *appsv1ac.RollingUpdateDeploymentApplyConfiguration {
	rolling := appsv1ac.RollingUpdateDeployment().
		WithMaxUnavailable(intstr.FromInt32(0)).WithMaxSurge(intstr.FromInt32(1))
	if rollout := dojo.Spec.Rollout; rollout != nil {
		rolling.MaxUnavailable = cmp.Or(rollout.MaxUnavailable, rolling.MaxUnavailable)
		rolling.MaxSurge = cmp.Or(rollout.MaxSurge, rolling.MaxSurge)
	}
	return rolling
}

func image(live *appsv1.Deployment) string {
	if live != nil {
		for i := range live.Spec.Template.Spec.Containers {
			if c := &live.Spec.Template.Spec.Containers[i]; c.Name == containerName {
				return c.Image
			}
		}
	}
	return ""
}

func podFor(
	dojo *corev1api.Dojo, access Credentials, serving string, cfg Config,
) *corev1ac.PodSpecApplyConfiguration {
	pod := pods.Spec(dojo, anyUser, cfg.Users, "64Mi", containerFor(dojo, access, serving)).
		WithTerminationGracePeriodSeconds(30).
		WithTopologySpreadConstraints(spread(dojo)...)
	addOptions(dojo, pod)
	return pod
}

func spread(dojo *corev1api.Dojo) []*corev1ac.TopologySpreadConstraintApplyConfiguration {
	if given := dojo.Spec.TopologySpreadConstraints; len(given) > 0 {
		return apply.As[[]*corev1ac.TopologySpreadConstraintApplyConfiguration](given)
	}
	return []*corev1ac.TopologySpreadConstraintApplyConfiguration{corev1ac.TopologySpreadConstraint().
		WithTopologyKey(corev1.LabelHostname).WithMaxSkew(1).WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(ownership.Selector(dojo))).
		WithMatchLabelKeys(appsv1.DefaultDeploymentUniqueLabelKey)}
}

func containerFor(dojo *corev1api.Dojo, access Credentials, serving string) *corev1ac.ContainerApplyConfiguration {
	container := corev1ac.Container().
		WithName(containerName).
		WithImage(serving).
		WithPorts(corev1ac.ContainerPort().WithName(PortName).WithContainerPort(appPort).WithProtocol(corev1.ProtocolTCP)).
		WithEnv(environment(dojo, access)...).
		WithResources(resourcesFor(dojo)).
		WithStartupProbe(probe(livenessPath).WithPeriodSeconds(1).WithFailureThreshold(60)).
		WithLivenessProbe(probe(livenessPath).WithPeriodSeconds(10).WithFailureThreshold(3)).
		WithReadinessProbe(probe(readinessPath).WithPeriodSeconds(5).WithFailureThreshold(2)).
		WithLifecycle(corev1ac.Lifecycle().
			WithPreStop(corev1ac.LifecycleHandler().WithSleep(corev1ac.SleepAction().WithSeconds(drainSeconds))))
	addContainerOptions(dojo, container)
	return container
}

func resourcesFor(dojo *corev1api.Dojo) *corev1ac.ResourceRequirementsApplyConfiguration {
	if dojo.Spec.Resources != nil {
		return apply.As[*corev1ac.ResourceRequirementsApplyConfiguration](dojo.Spec.Resources)
	}
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:              resource.MustParse("50m"),
			corev1.ResourceMemory:           resource.MustParse("64Mi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("16Mi"),
		}).
		WithLimits(corev1.ResourceList{
			// There is no limit on CPU: it would throttle start-up and bursts even on an idle node.
			corev1.ResourceMemory:           resource.MustParse("256Mi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("128Mi"),
		})
}

func probe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(PortName))).
		WithTimeoutSeconds(2)
}

func environment(dojo *corev1api.Dojo, access Credentials) []*corev1ac.EnvVarApplyConfiguration {
	env := []*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName("DOJO_ACCOUNT_ID").WithValue(escapeReferences(dojo.Spec.AccountID)),
		corev1ac.EnvVar().WithName("DOJO_TITLE").WithValue(escapeReferences(dojo.Spec.Title)),
	}
	from := func(key string) *corev1ac.SecretKeySelectorApplyConfiguration {
		return corev1ac.SecretKeySelector().WithName(access.SecretName).WithKey(key)
	}
	for _, key := range access.Keys {
		env = append(env, corev1ac.EnvVar().WithName(key).
			WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(from(key))))
	}
	for _, key := range access.Optional {
		env = append(env, corev1ac.EnvVar().WithName(key).
			WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(from(key).WithOptional(true))))
	}
	for i := range dojo.Spec.Env {
		env = append(env, apply.As[*corev1ac.EnvVarApplyConfiguration](dojo.Spec.Env[i]))
	}
	return env
}

// escapeReferences keeps Kubernetes from expanding $(NAME).
func escapeReferences(value string) string { return strings.ReplaceAll(value, "$", "$$") }

func planDeployment(
	dojo *corev1api.Dojo, s State, access Credentials, serving string, refused *refusal, hold Hold, cfg Config,
) *apply.Object {
	if hold.Pods && s.Deployment == nil {
		return nil
	}
	var replicas *int32
	if !s.Autoscaled || s.Stopped { // an autoscaler does not scale from 0, so a 0 stops it too
		replicas = new(s.allowedReplicas(dojo))
	}
	desired := apply.Typed(deploymentFor(dojo, access, serving, cfg, replicas))
	recordLastSize(dojo, s, desired)
	if refused != nil {
		ownership.Annotate(desired, refusedAnnotation, refused.String())
	}
	if hold.Pods {
		keepTemplate(desired, s.Deployment, cmp.Or(hold.Serving, image(s.Deployment)), access.Revision)
	}
	deployment := apply.Sync(ownership.FieldOwner, s.Deployment, desired, s.Unchanged)
	if deployment != nil {
		deployment.ReplaceSpec = maps.Clone(desired.Object["spec"].(map[string]any))
		// ReplaceSpec replaces the whole spec, so it needs the replicas even if an autoscaler owns them.
		deployment.ReplaceSpec["replicas"] = s.allowedReplicas(dojo)
	}
	return deployment
}

// scaledByOthers reports whether an autoscaler has written the replicas. Before the autoscaler's
// first write, the operator must not omit the field, because the API server would reset the
// replicas to 1.
func scaledByOthers(dojo *corev1api.Dojo, live *appsv1.Deployment, hasAutoscaler bool) bool {
	if !hasAutoscaler || *dojo.Spec.Replicas == 0 || dojo.Spec.Suspend {
		return false
	}
	return replicasOfOthers(live)
}

func replicasOfOthers(live *appsv1.Deployment) bool {
	ours := apply.OwnedFields(ownership.FieldOwner, live)
	return !ours.Empty() && !ours.Has(fieldpath.MakePathOrDie("spec", "replicas"))
}
