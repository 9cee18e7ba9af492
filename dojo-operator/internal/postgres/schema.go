package postgres

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

//go:embed schema.sh
var schemaScript string

const (
	// sqlFailed is psql's exit code for SQL that fails.
	sqlFailed = 3
	// postgresUser is the user that CloudNativePG's images run as.
	postgresUser = 26
)

// schemaName is the name of the Job that brings the schema up to date. It names the SQL and the
// database by a hash, so that a Job that has completed is the record that just this SQL has run in
// just this database.
func schemaName(d *corev1api.Dojo, s *State) string {
	const maxLength = 63 // of the name of a Job, for its pods' labels
	of := append([]string{schemaScript, string(s.Cluster.UID), string(s.Database.UID)}, s.SQL...)
	suffix := "-schema-" + shortHash(strings.Join(of, "\n"))
	return d.Name[:min(len(d.Name), maxLength-len(suffix))] + suffix
}

// schema runs the SQL that has not run yet in this database, and waits until it has.
func (w *way) schema() *conditions.Issue {
	if missing := w.state.MissingSQL; missing != "" {
		return conditions.WaitUntil(w.state.Now, w.dojo.WaitingSince(missing, w.state.Now), w.config.ProgressDeadline,
			conditions.Progressing(corev1api.ReasonWaitingForSQL,
				"Waiting for the %s of spec.postgres.initSQL.", missing).For(missing),
			conditions.Degraded(corev1api.ReasonSQLNotFound,
				"The %s of spec.postgres.initSQL does not exist. Create it, or remove it from the list.", missing).For(missing))
	}
	job, name := w.state.Job, schemaName(w.dojo, &w.state)
	applying := conditions.Progressing(corev1api.ReasonApplyingSchema, "The Job %s updates the schema.", name)
	if job == nil {
		w.write(apply.Write(ownership.FieldOwner, job, apply.Typed(schemaFor(w.dojo, &w.state))))
		return applying
	}
	trouble := pods.Worst(w.state.Now, w.state.JobPods)
	switch {
	case jobIs(job, batchv1.JobComplete):
		for _, former := range w.state.FormerJobs {
			w.Plan.Delete = append(w.Plan.Delete, apply.Delete("Job", former))
		}
		return nil
	case jobIs(job, batchv1.JobFailed):
		return schemaFailed(job, pods.TerminationMessage(w.state.JobPods))
	case trouble.Persistent:
		return schemaFailed(job, trouble.Message)
	}
	return applying
}

func schemaFailed(job *batchv1.Job, why string) *conditions.Issue {
	if why == "" {
		why = fmt.Sprintf("see `kubectl logs job/%s`", job.Name)
	}
	return conditions.Degraded(corev1api.ReasonSchemaFailed,
		"The schema cannot be updated: %s. Fix the SQL; to retry the same SQL, delete the Job with `kubectl delete job %s`.",
		strings.TrimRight(why, ".\n "), job.Name)
}

func jobIs(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// schemaFor is the Job. Its pods are not those of the application: the Service and the budget must
// not select them.
func schemaFor(d *corev1api.Dojo, s *State) *batchv1ac.JobApplyConfiguration {
	name := schemaName(d, s)
	return batchv1ac.Job(name, d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Schema)).
		WithOwnerReferences(ownership.Reference(d)).
		WithSpec(batchv1ac.JobSpec().
			WithBackoffLimit(6). // about ten minutes
			WithPodFailurePolicy(batchv1ac.PodFailurePolicy().WithRules(batchv1ac.PodFailurePolicyRule().
				WithAction(batchv1.PodFailurePolicyActionFailJob).
				WithOnExitCodes(batchv1ac.PodFailurePolicyOnExitCodesRequirement().
					WithContainerName(ownership.Schema).
					WithOperator(batchv1.PodFailurePolicyOnExitCodesOpIn).
					WithValues(sqlFailed)))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(ownership.Labels(d, ownership.Schema)).
				WithSpec(schemaPod(d, s))))
}

func schemaPod(d *corev1api.Dojo, s *State) *corev1ac.PodSpecApplyConfiguration {
	return pods.Spec(d, postgresUser, "16Mi", schemaContainer(d, s.Cluster.Status.Image)).
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithVolumes(corev1ac.Volume().WithName("sql").WithProjected(sqlVolume(d)))
}

func schemaContainer(d *corev1api.Dojo, image string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(ownership.Schema).
		WithImage(image).
		WithCommand("/bin/sh", "-c", schemaScript).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // instead of reading logs
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("10m"),
				corev1.ResourceMemory: resource.MustParse("32Mi"),
			}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")})).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("sql").WithMountPath("/sql").WithReadOnly(true))
	for _, v := range [][2]string{
		{"PGHOST", "host"}, {"PGPORT", "port"}, {"PGDATABASE", "dbname"}, {"PGUSER", "user"}, {"PGPASSWORD", "password"},
	} {
		c.WithEnv(corev1ac.EnvVar().WithName(v[0]).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(ObjectName(d)).WithKey(v[1]))))
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
