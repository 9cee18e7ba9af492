package dojo

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

const (
	containerName = "dojo"
	portName      = "http"
	// appPort and the probe paths are the Dojo application's contract.
	appPort       = 8080
	livenessPath  = "/probe/liveness"
	readinessPath = "/probe/readiness"
	// workingDir is where the application writes traces.json; it is the only place it can write to.
	workingDir = "/tmp"
	// anyUser is an unprivileged user: "restricted" pod security refuses root, and the image may not name another.
	anyUser = 65532
	// drainSeconds is how long a pod that is going away still serves, so that every proxy has taken it out of the Service.
	drainSeconds = 5
)

// deploymentFor returns the Deployment of a Dojo whose pods read the credentials of the given revision. Replicas are
// left to the autoscaler where one has taken them over.
func deploymentFor(d *corev1api.Dojo, cfg Config, revision string, autoscaled bool) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(d))).
		WithProgressDeadlineSeconds(int32(cfg.ProgressDeadline.Seconds())).
		WithStrategy(appsv1ac.DeploymentStrategy().
			WithType(appsv1.RollingUpdateDeploymentStrategyType).
			WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
				WithMaxUnavailable(intstr.FromInt32(0)).
				WithMaxSurge(intstr.FromInt32(1)))).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(labels(d)).
			WithAnnotations(map[string]string{revisionAnnotation: revision}).
			WithSpec(podFor(d, cfg)))
	if !autoscaled {
		spec.WithReplicas(*d.Spec.Replicas)
	}
	return appsv1ac.Deployment(d.Name, d.Namespace).
		WithLabels(labels(d)).
		WithOwnerReferences(ownedBy(d)).
		WithSpec(spec)
}

func podFor(d *corev1api.Dojo, cfg Config) *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(30).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(anyUser).
			WithRunAsGroup(anyUser).
			WithFSGroup(anyUser).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithTopologySpreadConstraints(spread(d)...).
		WithVolumes(corev1ac.Volume().
			WithName("tmp").
			WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(resource.MustParse("64Mi")))).
		WithContainers(containerFor(d, cfg))
	placePods(d, pod)
	return pod
}

// placePods says where pods may run and how their images are pulled, as the spec says.
func placePods(d *corev1api.Dojo, pod *corev1ac.PodSpecApplyConfiguration) {
	for _, secret := range d.Spec.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	if len(d.Spec.NodeSelector) > 0 {
		pod.WithNodeSelector(d.Spec.NodeSelector)
	}
	for i := range d.Spec.Tolerations {
		pod.WithTolerations(generic[*corev1ac.TolerationApplyConfiguration](d.Spec.Tolerations[i]))
	}
	if d.Spec.Affinity != nil {
		pod.WithAffinity(generic[*corev1ac.AffinityApplyConfiguration](d.Spec.Affinity))
	}
}

// spread is how the pods are spread: as the spec says, or else over different nodes where there are some.
func spread(d *corev1api.Dojo) []*corev1ac.TopologySpreadConstraintApplyConfiguration {
	if given := d.Spec.TopologySpreadConstraints; len(given) > 0 {
		return generic[[]*corev1ac.TopologySpreadConstraintApplyConfiguration](given)
	}
	return []*corev1ac.TopologySpreadConstraintApplyConfiguration{corev1ac.TopologySpreadConstraint().
		WithTopologyKey(corev1.LabelHostname).
		WithMaxSkew(1).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(selector(d))).
		WithMatchLabelKeys(appsv1.DefaultDeploymentUniqueLabelKey)}
}

func containerFor(d *corev1api.Dojo, cfg Config) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(containerName).
		WithImage(cmp.Or(d.Spec.Image, cfg.Image)).
		WithWorkingDir(workingDir).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(appPort).WithProtocol(corev1.ProtocolTCP)).
		WithEnv(environment(d)...).
		WithResources(resourcesFor(d)).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("tmp").WithMountPath(workingDir)).
		WithStartupProbe(probe(livenessPath).WithPeriodSeconds(1).WithFailureThreshold(60)).
		WithLivenessProbe(probe(livenessPath).WithPeriodSeconds(10).WithFailureThreshold(3)).
		WithReadinessProbe(probe(readinessPath).WithPeriodSeconds(5).WithFailureThreshold(2)).
		WithLifecycle(corev1ac.Lifecycle().
			WithPreStop(corev1ac.LifecycleHandler().WithSleep(corev1ac.SleepAction().WithSeconds(drainSeconds))))
}

func resourcesFor(d *corev1api.Dojo) *corev1ac.ResourceRequirementsApplyConfiguration {
	if d.Spec.Resources != nil {
		return generic[*corev1ac.ResourceRequirementsApplyConfiguration](d.Spec.Resources)
	}
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:              resource.MustParse("50m"),
			corev1.ResourceMemory:           resource.MustParse("64Mi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("16Mi"),
		}).
		WithLimits(corev1.ResourceList{
			// No limit on CPU: it would throttle start-up and bursts where the node has time to spare.
			corev1.ResourceMemory:           resource.MustParse("256Mi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("128Mi"),
		})
}

func probe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(portName))).
		WithTimeoutSeconds(2)
}

func environment(d *corev1api.Dojo) []*corev1ac.EnvVarApplyConfiguration {
	env := []*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName("DOJO_ACCOUNT_ID").WithValue(literally(d.Spec.AccountID)),
		corev1ac.EnvVar().WithName("DOJO_TITLE").WithValue(literally(d.Spec.Title)),
	}
	for _, key := range appKeys {
		env = append(env, corev1ac.EnvVar().WithName(key).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(credentialsName(d)).WithKey(key))))
	}
	for i := range d.Spec.Env {
		env = append(env, generic[*corev1ac.EnvVarApplyConfiguration](d.Spec.Env[i]))
	}
	return env
}

// literally keeps Kubernetes from replacing $(NAME) in the value of an environment variable.
func literally(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// wantedReplicas is how many pods should run: what the live Deployment asks for where an autoscaler decides, else the spec.
func wantedReplicas(d *corev1api.Dojo, live *appsv1.Deployment, autoscaled bool) int32 {
	if autoscaled && live != nil && live.Spec.Replicas != nil {
		return *live.Spec.Replicas
	}
	return *d.Spec.Replicas
}

// planDeployment returns the Deployment where it has to be written.
func planDeployment(d *corev1api.Dojo, seen *observed, cfg Config, revision string) *child {
	want := deploymentFor(d, cfg, revision, seen.autoscaled)
	if settled(seen.deployment, want, appsv1ac.ExtractDeployment) {
		return nil
	}
	return newChild(kindDeployment, seen.deployment, want, want.ObjectMetaApplyConfiguration)
}

// scaledByOthers reports whether a HorizontalPodAutoscaler of the Deployment itself decides about its replicas. It does once it
// has written them: until then the field is ours alone, and giving it up would reset it to 1. Replicas 0 are the
// Dojo's own wish, which also switches the autoscaler off.
func scaledByOthers(d *corev1api.Dojo, live *appsv1.Deployment, hasAutoscaler bool) bool {
	if !hasAutoscaler || live == nil || *d.Spec.Replicas == 0 {
		return false
	}
	ours, err := appsv1ac.ExtractDeployment(live, FieldOwner)
	return err == nil && ours.Spec != nil && ours.Spec.Replicas == nil && metav1.IsControlledBy(live, d)
}
