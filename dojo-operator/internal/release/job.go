// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
)

const (
	// ContainerName is the name of the step's container.
	ContainerName = "release"
	// migrateUser is an unprivileged user. The image of dojo-migrate does not name a user.
	migrateUser = 65532
	// FilesFolder is the folder of the migration files.
	FilesFolder = "/migrations"

	// stepAnnotation has the hash of the Job's step. retryAnnotation has the Dojo's request to retry
	// for which the Job was created.
	stepAnnotation  = "core.jutsu.com/release-step"
	retryAnnotation = "core.jutsu.com/release-retry"
	// migrationsAnnotation is "true" if the Job runs dojo-migrate, which writes a report.
	migrationsAnnotation = "core.jutsu.com/release-migrations"

	defaultTimeout = 10 * time.Minute
	hostVariable   = "DB_ENDPOINT"
	// After these exit codes, the Job replaces the pod: SIGKILL and SIGTERM, as on a lost node, and
	// EX_TEMPFAIL (sysexits.h) for a lost connection to the database. Unless a disruption ended the
	// pod, any other exit code than 0 fails the Job.
	killed, terminated, temporary = 137, 143, 75
	// restarts limits the replacements of a failed pod. Disruptions, such as an eviction, do not
	// use up this limit.
	restarts = 2
)

func hasFiles(dojo *corev1api.Dojo) bool { return dojo.Spec.Release.Migrations != nil }

// limitOf returns the timeout with which the Job began: a later change of the spec does not change it.
func limitOf(dojo *corev1api.Dojo, job *batchv1.Job) time.Duration {
	if seconds := job.Spec.ActiveDeadlineSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return timeoutOf(dojo)
}

func timeoutOf(dojo *corev1api.Dojo) time.Duration {
	if timeout := dojo.Spec.Release.Timeout; timeout != nil {
		return timeout.Duration
	}
	return defaultTimeout
}

// jobFor returns a Job that never runs two pods at once.
func jobFor(dojo *corev1api.Dojo, s *State, in Input, cfg Config) *batchv1ac.JobApplyConfiguration {
	labels := ownership.Labels(dojo, ownership.Release)
	template := corev1ac.PodTemplateSpec().
		WithLabels(labels).
		WithAnnotations(map[string]string{ownership.RevisionAnnotation: in.Revision}).
		WithSpec(podFor(dojo, s, in, cfg).WithRestartPolicy(corev1.RestartPolicyNever))
	pods.KeepOutOfMeshes(template)
	return batchv1ac.Job(jobName(dojo, s.Step), dojo.Namespace).
		WithLabels(labels).
		WithAnnotations(map[string]string{
			stepAnnotation: s.Step, retryAnnotation: retryOf(dojo), migrationsAnnotation: strconv.FormatBool(hasFiles(dojo)),
		}).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithSpec(batchv1ac.JobSpec().
			WithActiveDeadlineSeconds(int64(timeoutOf(dojo).Seconds())).
			WithBackoffLimit(restarts).
			WithPodReplacementPolicy(batchv1.Failed).
			WithPodFailurePolicy(failurePolicy()).
			WithTemplate(template))
}

func failurePolicy() *batchv1ac.PodFailurePolicyApplyConfiguration {
	codes := func(operator batchv1.PodFailurePolicyOnExitCodesOperator, values ...int32,
	) *batchv1ac.PodFailurePolicyOnExitCodesRequirementApplyConfiguration {
		return batchv1ac.PodFailurePolicyOnExitCodesRequirement().
			WithContainerName(ContainerName).WithOperator(operator).WithValues(values...)
	}
	return batchv1ac.PodFailurePolicy().WithRules(
		batchv1ac.PodFailurePolicyRule().
			WithAction(batchv1.PodFailurePolicyActionIgnore).
			WithOnPodConditions(batchv1ac.PodFailurePolicyOnPodConditionsPattern().
				WithType(corev1.DisruptionTarget).WithStatus(corev1.ConditionTrue)),
		batchv1ac.PodFailurePolicyRule().
			WithAction(batchv1.PodFailurePolicyActionCount).
			WithOnExitCodes(codes(batchv1.PodFailurePolicyOnExitCodesOpIn, temporary, killed, terminated)),
		batchv1ac.PodFailurePolicyRule().
			WithAction(batchv1.PodFailurePolicyActionFailJob).
			WithOnExitCodes(codes(batchv1.PodFailurePolicyOnExitCodesOpNotIn, 0)))
}

func podFor(dojo *corev1api.Dojo, s *State, in Input, cfg Config) *corev1ac.PodSpecApplyConfiguration {
	pod := in.Command
	if hasFiles(dojo) {
		pod = pods.Spec(dojo, migrateUser, cfg.Users, "16Mi", migrateContainer(s, in, cfg))
		pod.WithVolumes(corev1ac.Volume().WithName("migrations").WithProjected(filesVolume(s.Files)))
	}
	c := &pod.Containers[0]
	// The operator shows the termination message, so it need not read logs.
	c.WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError)
	for i := range c.Env {
		if in.Host != "" && *c.Env[i].Name == hostVariable {
			c.Env[i] = *corev1ac.EnvVar().WithName(hostVariable).WithValue(in.Host)
		}
	}
	return pod
}

func migrateContainer(s *State, in Input, cfg Config) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(ContainerName).
		WithImage(cfg.MigrateImage).
		WithArgs("--folder="+FilesFolder, "--digest="+s.Digest).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("migrations").WithMountPath(FilesFolder).WithReadOnly(true)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU:              resource.MustParse("10m"),
				corev1.ResourceMemory:           resource.MustParse("32Mi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("16Mi"),
			}).
			WithLimits(corev1.ResourceList{
				corev1.ResourceMemory:           resource.MustParse("128Mi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("64Mi"),
			}))
	for _, key := range in.Keys {
		c.WithEnv(corev1ac.EnvVar().WithName(key).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(s.Target.SecretName).WithKey(key))))
	}
	return c
}

// filesVolume does not list the files. The cache would drop the fields of a Job with many names
// (apply.MaxKept), and dojo-migrate checks the digest of all files.
func filesVolume(files []file) *corev1ac.ProjectedVolumeSourceApplyConfiguration {
	volume := corev1ac.ProjectedVolumeSource()
	for i := range files {
		if i == 0 || files[i].configMap != files[i-1].configMap {
			volume.WithSources(corev1ac.VolumeProjection().
				WithConfigMap(corev1ac.ConfigMapProjection().WithName(files[i].configMap)))
		}
	}
	return volume
}
