// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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

//go:embed login.sh
var loginScript string

//go:embed verify.sh
var verifyScript string

const (
	// sqlFailed is the exit code if a retry would change nothing. It is psql's code for a script that
	// fails under ON_ERROR_STOP.
	sqlFailed = 3
	// postgresUser is the user in CloudNativePG's images.
	postgresUser = 26

	// digestAnnotation identifies the SQL that a Job runs, or that has run in a Database.
	digestAnnotation = "core.jutsu.com/schema"
	// versionsAnnotation identifies the versions of the ConfigMaps and Secrets with this SQL.
	versionsAnnotation = "core.jutsu.com/schema-versions"
	templateAnnotation = "core.jutsu.com/schema-template"
)

func jobName(dojo *corev1api.Dojo, digest string) string { return nameOf(dojo, "-schema-", digest) }

func nameOf(dojo *corev1api.Dojo, suffix, digest string) string {
	// The name of a Job is also a label value of its pods.
	const maxLength = 63
	suffix += cnpg.ShortHash(digest)
	return dojo.Name[:min(len(dojo.Name), maxLength-len(suffix))] + suffix
}

type task struct {
	object           string
	digest, versions string
	template         *corev1ac.PodTemplateSpecApplyConfiguration
	// doing is a verb for messages. Only the check of restored data has a reason and an advice.
	doing, reason, advice string
}

func verifyTask(dojo *corev1api.Dojo, id string, major int, as As, users pods.Users) task {
	c := containerFor(dojo, as, verifyScript).
		WithEnv(corev1ac.EnvVar().WithName("MAJOR").WithValue(strconv.Itoa(major)))
	return task{
		object: "the upgraded database", doing: "verifies",
		digest: digest(verifyScript, id), template: podFor(dojo, c, users),
	}
}

func (t task) title() string { return strings.ToUpper(t.object[:1]) + t.object[1:] }

func sqlTask(dojo *corev1api.Dojo, s *State, as As, users pods.Users) task {
	c := containerFor(dojo, as, script).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("sql").WithMountPath("/sql").WithReadOnly(true))
	template := podFor(dojo, c, users)
	template.Spec.WithVolumes(corev1ac.Volume().WithName("sql").WithProjected(sqlVolume(dojo)))
	return task{object: "the schema", digest: s.Digest, versions: s.Versions, template: template}
}

func loginTask(dojo *corev1api.Dojo, id string, as As, users pods.Users) task {
	c := containerFor(dojo, as, loginScript).WithEnv(corev1ac.EnvVar().WithName("OWNER").WithValue(cnpg.SQLName(dojo)))
	return task{
		object: "the login " + as.Login.SQLName(dojo), digest: digest(loginScript, id), template: podFor(dojo, c, users),
	}
}

// jobFor sets labels that the application's Service and PodDisruptionBudget do not select.
func jobFor(dojo *corev1api.Dojo, t task) *batchv1ac.JobApplyConfiguration {
	return batchv1ac.Job(jobName(dojo, t.digest), dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Schema)).
		WithAnnotations(map[string]string{
			digestAnnotation: t.digest, versionsAnnotation: t.versions, templateAnnotation: templateHash(t.template),
		}).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithSpec(batchv1ac.JobSpec().
			WithBackoffLimit(6). // all retries take about ten minutes
			WithPodFailurePolicy(batchv1ac.PodFailurePolicy().WithRules(batchv1ac.PodFailurePolicyRule().
				WithAction(batchv1.PodFailurePolicyActionFailJob).
				WithOnExitCodes(batchv1ac.PodFailurePolicyOnExitCodesRequirement().
					WithContainerName(ownership.Schema).
					WithOperator(batchv1.PodFailurePolicyOnExitCodesOpIn).
					WithValues(sqlFailed)))).
			WithTemplate(t.template))
}

func templateHash(template *corev1ac.PodTemplateSpecApplyConfiguration) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(err) // impossible: client-go's builders marshal
	}
	return cnpg.ShortHash(string(text))
}

func podFor(
	dojo *corev1api.Dojo, c *corev1ac.ContainerApplyConfiguration, users pods.Users,
) *corev1ac.PodTemplateSpecApplyConfiguration {
	return pods.KeepOutOfMeshes(corev1ac.PodTemplateSpec().
		WithLabels(ownership.Labels(dojo, ownership.Schema)).
		WithSpec(pods.Spec(dojo, postgresUser, users, "16Mi", c).WithRestartPolicy(corev1.RestartPolicyNever)))
}

func containerFor(dojo *corev1api.Dojo, as As, script string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(ownership.Schema).
		WithImage(as.Image).
		WithCommand("/bin/sh", "-c", script).
		// The operator shows the termination message, so it need not read logs.
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU:              resource.MustParse("10m"),
				corev1.ResourceMemory:           resource.MustParse("32Mi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("16Mi"),
			}).
			WithLimits(corev1.ResourceList{
				corev1.ResourceMemory:           resource.MustParse("256Mi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("128Mi"),
			}))
	for _, v := range [][2]string{
		{"PGHOST", "host"}, {"PGPORT", "port"}, {"PGDATABASE", "dbname"}, {"PGUSER", "user"}, {"PGPASSWORD", "password"},
	} {
		c.WithEnv(corev1ac.EnvVar().WithName(v[0]).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(as.Login.ObjectName(dojo)).WithKey(v[1]))))
	}
	return c
}

// sqlVolume names each file by its position and source. schema.sh hides the errors of a file whose
// name ends with ".secret.sql".
func sqlVolume(dojo *corev1api.Dojo) *corev1ac.ProjectedVolumeSourceApplyConfiguration {
	volume := corev1ac.ProjectedVolumeSource()
	for i, source := range dojo.Spec.Postgres.InitSQL {
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
