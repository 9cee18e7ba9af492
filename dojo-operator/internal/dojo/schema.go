package dojo

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

//go:embed schema.sh
var schemaScript string

const (
	// schemaValue tells the pods of the schema's Job from those of the application: the Service and the budget must not find them.
	schemaValue = "dojo-schema"
	// sqlFailed is psql's exit code for SQL that fails.
	sqlFailed = 3
	// postgresUser is the user that CloudNativePG's images run as.
	postgresUser = 26
	// mostJobName is how long the name of a Job may be for its pods' labels.
	mostJobName = 63
)

// seenSchema is what there is of the schema's Jobs.
type seenSchema struct {
	// sql identifies each piece of spec.postgres.initSQL as it is now; absentSQL is the first that does not exist, empty where all do.
	sql       []string
	absentSQL string
	// job is the one for the present SQL, formerJobs are those for other SQL, jobPods the pods of the present one.
	job        *batchv1.Job
	formerJobs []*batchv1.Job
	jobPods    []corev1.Pod
}

// schemaName is the name of the Job that brings the schema up to date. It names the SQL, and the database, by a hash, so a Job that has
// completed is the record that just this SQL has run in just this database.
func schemaName(d *corev1api.Dojo, s *seenDatabase) string {
	hash := shortHash(strings.Join(append([]string{schemaScript, string(s.cluster.GetUID()), string(s.database.GetUID())}, s.sql...), "\n"))
	suffix := "-schema-" + hash
	return d.Name[:min(len(d.Name), mostJobName-len(suffix))] + suffix
}

func schemaLabels(d *corev1api.Dojo) map[string]string {
	l := labels(d)
	l[nameLabel] = schemaValue
	return l
}

// planSchema runs the SQL that has not run yet in this database, and waits until it has.
func (db *database) planSchema(d *corev1api.Dojo, seen *observed, cfg Config) error {
	if seen.db.absentSQL != "" {
		return missed(d, seen.now, cfg.ProgressDeadline, &conditions.Waiting{
			Reason:  corev1api.ReasonWaitingForSQL,
			Message: fmt.Sprintf("Waiting for the %s that spec.postgres.initSQL names.", seen.db.absentSQL),
		}, &conditions.Terminal{
			Reason:  corev1api.ReasonSQLNotFound,
			Message: fmt.Sprintf("The %s that spec.postgres.initSQL names does not exist. Create it, or take it out.", seen.db.absentSQL),
		})
	}
	applying := &conditions.Waiting{
		Reason: corev1api.ReasonApplyingSchema, Message: fmt.Sprintf("The Job %s brings the schema up to date.", schemaName(d, &seen.db)),
	}
	job := seen.db.job
	if job == nil {
		want := schemaFor(d, &seen.db)
		c := newChild(kindJob, job, want, want.ObjectMetaApplyConfiguration)
		c.chain = databaseChain
		db.apply = append(db.apply, c)
		return applying
	}
	trouble := worst(seen.now, seen.db.jobPods)
	switch {
	case jobIs(job, batchv1.JobComplete):
		for _, former := range seen.db.formerJobs {
			db.remove = append(db.remove, &leftover{kindJob, former})
		}
		return nil
	case jobIs(job, batchv1.JobFailed):
		return schemaFailed(job, lastWords(seen.db.jobPods))
	case trouble.persistent:
		return schemaFailed(job, trouble.message)
	}
	return applying
}

func schemaFailed(job *batchv1.Job, why string) error {
	if why == "" {
		why = fmt.Sprintf("`kubectl logs job/%s` says why", job.Name)
	}
	return &conditions.Terminal{
		Reason: corev1api.ReasonSchemaFailed,
		Message: fmt.Sprintf("The schema cannot be brought up to date: %s. Mend the SQL; or where that is not to blame, `kubectl delete job %s` has it tried again.",
			strings.TrimRight(why, ".\n "), job.Name),
	}
}

func jobIs(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// lastWords are the last lines that the youngest failed pod has printed.
func lastWords(pods []corev1.Pod) string {
	sorted := slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for i := range sorted {
		for _, c := range sorted[i].Status.ContainerStatuses {
			if c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
				return strings.TrimSpace(c.State.Terminated.Message)
			}
		}
	}
	return ""
}

func schemaFor(d *corev1api.Dojo, s *seenDatabase) *batchv1ac.JobApplyConfiguration {
	name := schemaName(d, s)
	return batchv1ac.Job(name, d.Namespace).
		WithLabels(schemaLabels(d)).
		WithOwnerReferences(ownedBy(d)).
		WithSpec(batchv1ac.JobSpec().
			WithBackoffLimit(6). // about ten minutes
			WithPodFailurePolicy(batchv1ac.PodFailurePolicy().WithRules(batchv1ac.PodFailurePolicyRule().
				WithAction(batchv1.PodFailurePolicyActionFailJob).
				WithOnExitCodes(batchv1ac.PodFailurePolicyOnExitCodesRequirement().
					WithContainerName(schemaValue).
					WithOperator(batchv1.PodFailurePolicyOnExitCodesOpIn).
					WithValues(sqlFailed)))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(schemaLabels(d)).
				WithSpec(schemaPod(d, s))))
}

func schemaPod(d *corev1api.Dojo, s *seenDatabase) *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(postgresUser).
			WithRunAsGroup(postgresUser).
			WithFSGroup(postgresUser).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(schemaContainer(d, stateOfCluster(s.cluster).image)).
		WithVolumes(
			corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(resource.MustParse("16Mi"))),
			corev1ac.Volume().WithName("sql").WithProjected(sqlVolume(d)))
	placePods(d, pod)
	return pod
}

func schemaContainer(d *corev1api.Dojo, image string) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(schemaValue).
		WithImage(image).
		WithCommand("/bin/sh", "-c", schemaScript).
		WithWorkingDir(workingDir).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // so that nobody has to read logs
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("10m"),
				corev1.ResourceMemory: resource.MustParse("32Mi"),
			}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")})).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("tmp").WithMountPath(workingDir),
			corev1ac.VolumeMount().WithName("sql").WithMountPath("/sql").WithReadOnly(true))
	for _, v := range [][2]string{{"PGHOST", "host"}, {"PGPORT", "port"}, {"PGDATABASE", "dbname"}, {"PGUSER", "user"}, {"PGPASSWORD", "password"}} {
		c.WithEnv(corev1ac.EnvVar().WithName(v[0]).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(databaseObject(d)).WithKey(v[1]))))
	}
	return c
}

// sqlVolume has every piece of spec.postgres.initSQL as a file; the names put them in order, tell whose they are and which are secret.
func sqlVolume(d *corev1api.Dojo) *corev1ac.ProjectedVolumeSourceApplyConfiguration {
	volume := corev1ac.ProjectedVolumeSource()
	for i, source := range d.Spec.Postgres.InitSQL {
		projection := corev1ac.VolumeProjection()
		if ref := source.SecretKeyRef; ref != nil {
			path := fmt.Sprintf("%02d-%s.secret.sql", i, ref.Name)
			projection.WithSecret(corev1ac.SecretProjection().WithName(ref.Name).WithItems(corev1ac.KeyToPath().WithKey(ref.Key).WithPath(path)))
		} else if ref := source.ConfigMapKeyRef; ref != nil {
			path := fmt.Sprintf("%02d-%s.sql", i, ref.Name)
			projection.WithConfigMap(corev1ac.ConfigMapProjection().WithName(ref.Name).WithItems(corev1ac.KeyToPath().WithKey(ref.Key).WithPath(path)))
		}
		volume.WithSources(projection)
	}
	return volume
}

// sqlVersion identifies one state of an object that holds SQL.
func sqlVersion(kind, key string, o *metav1.PartialObjectMetadata) string {
	return fmt.Sprintf("%s/%s/%s/%s/%s", kind, o.Name, key, o.UID, o.ResourceVersion)
}
