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
func jobName(d *corev1api.Dojo, digest string) string { return nameOf(d, "-schema-", digest) }

func nameOf(d *corev1api.Dojo, suffix, digest string) string {
	const maxLength = 63 // of the name of a Job, for its pods' labels
	suffix += cnpg.ShortHash(digest)
	return d.Name[:min(len(d.Name), maxLength-len(suffix))] + suffix
}

// task is what a Job does.
type task struct {
	// object is what is updated.
	object           string
	digest, versions string
	template         *corev1ac.PodTemplateSpecApplyConfiguration
	// doing is what the Job does with the object; reason and advice are what it means that it fails, and
	// what to do. Empty for SQL.
	doing, reason, advice string
}

// verifyTask is a query in Postgres of a major version.
func verifyTask(d *corev1api.Dojo, of string, major int, as As, users pods.Users) task {
	c := containerFor(d, as, verifyScript).
		WithEnv(corev1ac.EnvVar().WithName("MAJOR").WithValue(strconv.Itoa(major)))
	return task{
		object: "the upgraded database", doing: "verifies", digest: digest(verifyScript, of), template: podFor(d, c, users),
	}
}

func (t task) title() string { return strings.ToUpper(t.object[:1]) + t.object[1:] }

// sqlTask brings the SQL into the database.
func sqlTask(d *corev1api.Dojo, s *State, as As, users pods.Users) task {
	c := containerFor(d, as, script).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("sql").WithMountPath("/sql").WithReadOnly(true))
	template := podFor(d, c, users)
	template.Spec.WithVolumes(corev1ac.Volume().WithName("sql").WithProjected(sqlVolume(d)))
	return task{object: "the schema", digest: s.Digest, versions: s.Versions, template: template}
}

// loginTask makes the sessions of a login act as the owner of the database.
func loginTask(d *corev1api.Dojo, of string, as As, users pods.Users) task {
	c := containerFor(d, as, loginScript).WithEnv(corev1ac.EnvVar().WithName("OWNER").WithValue(cnpg.SQLName(d)))
	return task{
		object: "the login " + as.Login.SQLName(d), digest: digest(loginScript, of), template: podFor(d, c, users),
	}
}

// jobFor is the Job for a task. Its pods are not those of the application: the Service and the budget
// must not select them.
func jobFor(d *corev1api.Dojo, t task) *batchv1ac.JobApplyConfiguration {
	return batchv1ac.Job(jobName(d, t.digest), d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Schema)).
		WithAnnotations(map[string]string{
			digestAnnotation: t.digest, versionsAnnotation: t.versions, templateAnnotation: templateHash(t.template),
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
			WithTemplate(t.template))
}

func templateHash(template *corev1ac.PodTemplateSpecApplyConfiguration) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(err) // it is of client-go's builders
	}
	return cnpg.ShortHash(string(text))
}

func podFor(
	d *corev1api.Dojo, c *corev1ac.ContainerApplyConfiguration, users pods.Users,
) *corev1ac.PodTemplateSpecApplyConfiguration {
	return corev1ac.PodTemplateSpec().
		WithLabels(ownership.Labels(d, ownership.Schema)).
		WithLabels(outOfMeshesLabels).
		WithAnnotations(outOfMeshes).
		WithSpec(pods.Spec(d, postgresUser, users, "16Mi", c).WithRestartPolicy(corev1.RestartPolicyNever))
}

// containerFor is one that runs a script with the credentials of a login.
func containerFor(d *corev1api.Dojo, as As, script string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(ownership.Schema).
		WithImage(as.Image).
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
			}))
	for _, v := range [][2]string{
		{"PGHOST", "host"}, {"PGPORT", "port"}, {"PGDATABASE", "dbname"}, {"PGUSER", "user"}, {"PGPASSWORD", "password"},
	} {
		c.WithEnv(corev1ac.EnvVar().WithName(v[0]).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(as.Login.ObjectName(d)).WithKey(v[1]))))
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
