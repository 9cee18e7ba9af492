// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

//go:embed schema.sh
var script string

const (
	// sqlFailed is psql's exit code for SQL that fails.
	sqlFailed = 3
	// postgresUser is the user that CloudNativePG's images run as.
	postgresUser = 26

	// digestAnnotation is on a Job which SQL it runs, and on the Database which SQL has run in it.
	digestAnnotation = "core.jutsu.com/schema"
	// versionsAnnotation is, beside it, of which versions of ConfigMaps and Secrets the digest was made.
	versionsAnnotation = "core.jutsu.com/schema-versions"
	// templateAnnotation on a Job is a hash of its pod template.
	templateAnnotation = "core.jutsu.com/schema-template"
)

// outOfMeshes opts the pods out of service meshes: a sidecar would never end, and with it the Job.
var (
	outOfMeshesLabels = map[string]string{
		"sidecar.istio.io/inject": "false", "istio.io/dataplane-mode": "none", "kuma.io/sidecar-injection": "disabled",
	}
	outOfMeshes = map[string]string{
		"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled",
		"consul.hashicorp.com/connect-inject": "false",
	}
)

// jobName is the name of the Job for the SQL with this digest.
func jobName(d *corev1api.Dojo, digest string) string {
	const maxLength = 63 // of the name of a Job, for its pods' labels
	suffix := "-schema-" + cnpg.ShortHash(digest)
	return d.Name[:min(len(d.Name), maxLength-len(suffix))] + suffix
}

// jobFor is the Job that runs the SQL with an image of Postgres. Its pods are not those of the
// application: the Service and the budget must not select them.
func jobFor(d *corev1api.Dojo, s *State, image string, users pods.Users) *batchv1ac.JobApplyConfiguration {
	template := podFor(d, image, users)
	return batchv1ac.Job(jobName(d, s.Digest), d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Schema)).
		WithAnnotations(map[string]string{
			digestAnnotation: s.Digest, versionsAnnotation: s.Versions, templateAnnotation: templateHash(template),
		}).
		WithOwnerReferences(ownership.Reference(d)).
		WithSpec(batchv1ac.JobSpec().
			WithBackoffLimit(6). // about ten minutes
			WithPodFailurePolicy(batchv1ac.PodFailurePolicy().WithRules(batchv1ac.PodFailurePolicyRule().
				WithAction(batchv1.PodFailurePolicyActionFailJob).
				WithOnExitCodes(batchv1ac.PodFailurePolicyOnExitCodesRequirement().
					WithContainerName(ownership.Schema).
					WithOperator(batchv1.PodFailurePolicyOnExitCodesOpIn).
					WithValues(sqlFailed)))).
			WithTemplate(template))
}

func templateHash(template *corev1ac.PodTemplateSpecApplyConfiguration) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(err) // it is of client-go's builders
	}
	return cnpg.ShortHash(string(text))
}

func podFor(d *corev1api.Dojo, image string, users pods.Users) *corev1ac.PodTemplateSpecApplyConfiguration {
	return corev1ac.PodTemplateSpec().
		WithLabels(ownership.Labels(d, ownership.Schema)).
		WithLabels(outOfMeshesLabels).
		WithAnnotations(outOfMeshes).
		WithSpec(pods.Spec(d, postgresUser, users, "16Mi", containerFor(d, image)).
			WithRestartPolicy(corev1.RestartPolicyNever).
			WithVolumes(corev1ac.Volume().WithName("sql").WithProjected(sqlVolume(d))))
}

func containerFor(d *corev1api.Dojo, image string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(ownership.Schema).
		WithImage(image).
		WithCommand("/bin/sh", "-c", script).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // instead of reading logs
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU:              resource.MustParse("10m"),
				corev1.ResourceMemory:           resource.MustParse("32Mi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("16Mi"),
			}).
			WithLimits(corev1.ResourceList{
				corev1.ResourceMemory:           resource.MustParse("256Mi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("128Mi"),
			})).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("sql").WithMountPath("/sql").WithReadOnly(true))
	for _, v := range [][2]string{
		{"PGHOST", "host"}, {"PGPORT", "port"}, {"PGDATABASE", "dbname"}, {"PGUSER", "user"}, {"PGPASSWORD", "password"},
	} {
		c.WithEnv(corev1ac.EnvVar().WithName(v[0]).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(cnpg.ObjectName(d)).WithKey(v[1]))))
	}
	return c
}

// sqlVolume has every piece of spec.postgres.initSQL as a file; the names give the order, the
// source and which are secret.
func sqlVolume(d *corev1api.Dojo) *corev1ac.ProjectedVolumeSourceApplyConfiguration {
	volume := corev1ac.ProjectedVolumeSource()
	for i, source := range d.Spec.Postgres.InitSQL {
		projection := corev1ac.VolumeProjection()
		if ref := source.SecretKeyRef; ref != nil {
			path := fmt.Sprintf("%02d-%s.secret.sql", i, ref.Name)
			projection.WithSecret(corev1ac.SecretProjection().WithName(ref.Name).
				WithItems(corev1ac.KeyToPath().WithKey(ref.Key).WithPath(path)))
		} else if ref := source.ConfigMapKeyRef; ref != nil {
			path := fmt.Sprintf("%02d-%s.sql", i, ref.Name)
			projection.WithConfigMap(corev1ac.ConfigMapProjection().WithName(ref.Name).
				WithItems(corev1ac.KeyToPath().WithKey(ref.Key).WithPath(path)))
		}
		volume.WithSources(projection)
	}
	return volume
}
