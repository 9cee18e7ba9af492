// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

// State has the observed SQL and its Jobs.
type State struct {
	Now time.Time
	// Digest identifies the SQL and its database; "" until both exist.
	Digest string
	// Versions identifies the versions of the ConfigMaps and Secrets with SQL.
	Versions string
	// Missing names the first ConfigMap, Secret or key with SQL that does not exist.
	Missing  string
	TooLarge bool
	// SameName is the existing Job, of any controller, with the name that the next Job needs.
	SameName *batchv1.Job
	// Jobs excludes Statistics, the Jobs that analyze an upgraded database. Pods is empty unless SQL
	// may run, or the Dojo is being deleted.
	Jobs, Statistics []*batchv1.Job
	Pods             []corev1.Pod
}

// Observe reads the SQL of a Dojo. cluster and db are nil if they do not exist.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, db *cnpgv1.Database, now time.Time,
) (s State, err error) {
	s.Now = now
	all, err := jobs(ctx, r, dojo)
	if err != nil {
		return s, err
	}
	for _, job := range all {
		if isStatisticsJob(dojo, job) {
			s.Statistics = append(s.Statistics, job)
		} else {
			s.Jobs = append(s.Jobs, job)
		}
	}
	if err := s.observeSQL(ctx, r, dojo, cluster, db); err != nil {
		return s, err
	}
	if s.Digest != "" {
		name := types.NamespacedName{Namespace: dojo.Namespace, Name: jobName(dojo, s.Digest)}
		if s.SameName, err = apply.Get(ctx, r, "Job", name, &batchv1.Job{}); err != nil {
			return s, err
		}
		if Applied(s, db) && dojo.DeletionTimestamp == nil && !slices.ContainsFunc(s.Jobs, runsOwnSQL) {
			return s, nil
		}
	}
	s.Pods, err = pods.List(ctx, r, dojo, pods.OfSchema)
	s.Pods = slices.DeleteFunc(s.Pods, s.isStatisticsPod)
	return s, err
}

// runsOwnSQL reports whether a Job runs SQL that is not part of the schema, such as the SQL for a
// login.
func runsOwnSQL(job *batchv1.Job) bool { return job.Annotations[versionsAnnotation] == "" }

func jobs(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (ours []*batchv1.Job, err error) {
	var list batchv1.JobList
	of := client.MatchingFields{pods.JobOfSchema: dojo.Name}
	if err := r.Cache.List(ctx, &list, client.InNamespace(dojo.Namespace), of); err != nil {
		return nil, fmt.Errorf("list Jobs: %w", err)
	}
	for i := range list.Items {
		if job := &list.Items[i]; metav1.IsControlledBy(job, dojo) {
			ours = append(ours, job)
		}
	}
	return ours, nil
}

// observeSQL reads the SQL only if no Database or Job has the digest for its present versions.
func (s *State) observeSQL(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, db *cnpgv1.Database,
) error {
	var versions []string
	for _, source := range sources(dojo) {
		live, err := apply.Get(ctx, r, source.kind, source.name, apply.Metadata("v1", source.kind))
		switch {
		case err != nil:
			return err
		case live != nil:
			versions = append(versions, fmt.Sprint(source, live.UID, live.ResourceVersion))
		default:
			s.Missing = cmp.Or(s.Missing, source.kind+" "+source.name.String())
		}
	}
	if s.Missing != "" || cluster == nil || db == nil {
		return nil
	}
	database := []string{script, string(cluster.UID), string(db.UID)}
	s.Versions = digest(append(database, versions...)...)
	if known := s.knownDigest(db); known != "" {
		s.Digest = known
		return nil
	}
	contents, missing, err := read(ctx, r, sources(dojo))
	switch {
	case errors.Is(err, errTooLarge):
		s.TooLarge = true
		return nil
	case err != nil:
		return err
	case missing != "":
		s.Missing = missing
		return nil
	}
	s.Digest = digest(append(database, contents...)...)
	return nil
}

func (s *State) knownDigest(db *cnpgv1.Database) string {
	objects := []metav1.Object{db}
	for _, job := range s.Jobs {
		objects = append(objects, job)
	}
	for _, o := range objects {
		if a := o.GetAnnotations(); a[versionsAnnotation] == s.Versions && a[digestAnnotation] != noRecord {
			return a[digestAnnotation]
		}
	}
	return ""
}

func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Applied reports whether the SQL that last ran in the database is the SQL in the State.
func Applied(s State, db *cnpgv1.Database) bool {
	return db != nil && s.Digest != "" && db.Annotations[digestAnnotation] == s.Digest
}
