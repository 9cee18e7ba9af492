package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

// Config is what the operator's flags say.
type Config struct {
	// Deadline is how long CloudNativePG may take for a step before the Dojo is Degraded.
	Deadline time.Duration
	// ProgressDeadline is the same for what CloudNativePG says that it cannot do, and for missing
	// SQL.
	ProgressDeadline time.Duration
	// Image is the image of Postgres without its tag, which is the major version that a Dojo asks
	// for.
	Image string
}

// State is what there is of the database of a Dojo with spec.postgres. What does not exist is nil.
type State struct {
	Now time.Time
	// NewPassword is a random word.
	NewPassword string
	// Missing is a kind of CloudNativePG that the cluster does not have, empty where it has all.
	// With one missing, no object of CloudNativePG is read.
	Missing string
	// Secret is the metadata of the Secret with the password; Password is the one in it, read only
	// where it has to be written anew.
	Secret   *metav1.PartialObjectMetadata
	Password []byte

	Cluster     *cnpgv1.Cluster
	Role        *cnpgv1.DatabaseRole
	Database    *cnpgv1.Database
	Schedule    *cnpgv1.ScheduledBackup
	FinalBackup *cnpgv1.Backup
	// LastBackup is the last one of the Dojo's own Cluster that has completed.
	LastBackup *cnpgv1.Backup

	// SQL identifies each piece of spec.postgres.initSQL as it is now; MissingSQL is the first that
	// does not exist, empty where all do.
	SQL        []string
	MissingSQL string
	// Job is the one for the present SQL, FormerJobs are those for other SQL, JobPods are the pods
	// of the present one.
	Job        *batchv1.Job
	FormerJobs []*batchv1.Job
	JobPods    []corev1.Pod
	// Unchanged are the objects whose last apply changed nothing.
	Unchanged apply.Unchanged
}

// Observe reads the database; nothing without spec.postgres. has reports which kinds the cluster
// has.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, has func(optional.Kind) bool, now time.Time,
) (s State, err error) {
	s = State{Now: now, NewPassword: rand.Text(), Unchanged: r.Unchanged}
	if d.Spec.Postgres == nil {
		return s, nil
	}
	if err := s.observeObjects(ctx, r, d, has); err != nil {
		return s, err
	}
	err = errors.Join(s.observeBackups(ctx, r, d), s.observePassword(ctx, r, d),
		s.observeSQL(ctx, r, d), s.observeJobs(ctx, r, d))
	return s, err
}

func (s *State) observeObjects(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, has func(optional.Kind) bool,
) error {
	for _, kind := range Kinds() {
		if !has(kind) {
			s.Missing = kind.Kind
			return nil
		}
	}
	return errors.Join(
		observe(ctx, r, clusterKind.Kind, d.Namespace, ClusterName(d), &s.Cluster),
		observe(ctx, r, roleKind.Kind, d.Namespace, ObjectName(d), &s.Role),
		observe(ctx, r, databaseKind.Kind, d.Namespace, ObjectName(d), &s.Database),
		observe(ctx, r, scheduleKind.Kind, d.Namespace, ObjectName(d), &s.Schedule),
		observe(ctx, r, backupKind.Kind, d.Namespace, finalBackupName(d), &s.FinalBackup),
	)
}

// observe reads an object into the field of the State that is for it.
func observe[T any, L interface {
	*T
	apply.Live
}](ctx context.Context, r apply.Reader, kind, namespace, name string, into *L) (err error) {
	*into, err = apply.Get(ctx, r, kind, types.NamespacedName{Namespace: namespace, Name: name}, L(new(T)))
	return err
}

func (s *State) observePassword(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (err error) {
	name := types.NamespacedName{Namespace: d.Namespace, Name: ObjectName(d)}
	if s.Secret, err = apply.Get(ctx, r, "Secret", name, apply.Metadata("v1", "Secret")); err != nil {
		return err
	}
	if s.Secret == nil {
		s.Secret, err = r.ConfirmAbsent(ctx, name)
	}
	if err != nil || !ownership.Holds(d, s.Secret) || passwordInSync(d, s.Secret) {
		return err
	}
	secret, err := r.ReadSecret(ctx, name)
	if err == nil {
		s.Password = secret.Data["password"]
	}
	return err
}

// observeSQL records which state of spec.postgres.initSQL there is; its text is for the Job alone
// to read.
func (s *State) observeSQL(ctx context.Context, r apply.Reader, d *corev1api.Dojo) error {
	for _, source := range d.Spec.Postgres.InitSQL {
		kind, ref := "ConfigMap", source.ConfigMapKeyRef
		if source.SecretKeyRef != nil {
			kind, ref = "Secret", source.SecretKeyRef
		}
		name := types.NamespacedName{Namespace: d.Namespace, Name: ref.Name}
		live, err := apply.Get(ctx, r, kind, name, apply.Metadata("v1", kind))
		switch {
		case err != nil:
			return err
		case live != nil:
			s.SQL = append(s.SQL, fmt.Sprintf("%s/%s/%s/%s/%s", kind, live.Name, ref.Key, live.UID, live.ResourceVersion))
		case s.MissingSQL == "":
			s.MissingSQL = fmt.Sprintf("%s %s", kind, name)
		}
	}
	return nil
}

// observeJobs reads the schema's Jobs, and the pods of the present one until it has completed.
func (s *State) observeJobs(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (err error) {
	var jobs batchv1.JobList
	ours := client.MatchingFields{pods.JobOfDojo: d.Name}
	if err := r.Cache.List(ctx, &jobs, client.InNamespace(d.Namespace), ours); err != nil {
		return fmt.Errorf("list Jobs: %w", err)
	}
	present := ""
	if s.Cluster != nil && s.Database != nil {
		present = schemaName(d, s)
		if err := observe(ctx, r, "Job", d.Namespace, present, &s.Job); err != nil {
			return err
		}
	}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; job.Name != present && metav1.IsControlledBy(job, d) && job.DeletionTimestamp == nil {
			s.FormerJobs = append(s.FormerJobs, job)
		}
	}
	if s.Job != nil && jobIs(s.Job, batchv1.JobComplete) && d.DeletionTimestamp == nil {
		return nil
	}
	s.JobPods, err = pods.List(ctx, r, d, pods.OfSchema)
	return err
}
