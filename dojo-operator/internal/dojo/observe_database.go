package dojo

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// observeDatabase reads what there is of the database of a Dojo with spec.postgres.
func (r *Reconciler) observeDatabase(ctx context.Context, d *corev1api.Dojo, seen *observed) error {
	if d.Spec.Postgres == nil {
		return nil
	}
	db := &seen.db
	if db.missing = firstMissing(r.Kinds.Has, databaseKinds); db.missing == "" {
		for _, o := range []struct {
			kind optional.Kind
			name string
			into **unstructured.Unstructured
		}{
			{clusterKind, clusterName(d), &db.cluster},
			{roleKind, databaseObject(d), &db.role},
			{databaseKind, databaseObject(d), &db.database},
			{scheduleKind, databaseObject(d), &db.schedule},
			{backupKind, finalBackupName(d), &db.finalBackup},
		} {
			name := types.NamespacedName{Namespace: d.Namespace, Name: o.name}
			live, err := look(ctx, r, o.kind.Kind, name, o.kind.Object())
			if err != nil {
				return err
			}
			*o.into = live
		}
	}
	if err := r.observeSQL(ctx, d, db); err != nil {
		return err
	}
	return r.observeJobs(ctx, d, db)
}

// observeSQL notes which state of spec.postgres.initSQL there is; its text is for the Job alone to read.
func (r *Reconciler) observeSQL(ctx context.Context, d *corev1api.Dojo, db *seenDatabase) error {
	for _, source := range d.Spec.Postgres.InitSQL {
		kind, ref := kindConfigMap, source.ConfigMapKeyRef
		if source.SecretKeyRef != nil {
			kind, ref = kindSecret, source.SecretKeyRef
		}
		name := types.NamespacedName{Namespace: d.Namespace, Name: ref.Name}
		live, err := look(ctx, r, kind, name, metadata("v1", kind))
		switch {
		case err != nil:
			return err
		case live != nil:
			db.sql = append(db.sql, sqlVersion(kind, ref.Key, live))
		case db.absentSQL == "":
			db.absentSQL = fmt.Sprintf("%s %s", kind, name)
		}
	}
	return nil
}

// observeJobs reads the schema's Jobs, and the pods of the present one until it has completed.
func (r *Reconciler) observeJobs(ctx context.Context, d *corev1api.Dojo, db *seenDatabase) error {
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, client.InNamespace(d.Namespace), client.MatchingFields{jobOfDojo: d.Name}); err != nil {
		return fmt.Errorf("list Jobs: %w", err)
	}
	present := ""
	if db.cluster != nil && db.database != nil {
		present = schemaName(d, db)
		name := types.NamespacedName{Namespace: d.Namespace, Name: present}
		var err error
		if db.job, err = look(ctx, r, kindJob, name, &batchv1.Job{}); err != nil {
			return err
		}
	}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; job.Name != present && metav1.IsControlledBy(job, d) && job.DeletionTimestamp == nil {
			db.formerJobs = append(db.formerJobs, job)
		}
	}
	if db.job != nil && jobIs(db.job, batchv1.JobComplete) && d.DeletionTimestamp == nil {
		return nil
	}
	return r.observePods(ctx, d, podOfSchema, &db.jobPods)
}
