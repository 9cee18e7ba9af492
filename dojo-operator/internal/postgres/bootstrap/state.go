// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// State has the observed source. An object is nil if it does not exist or is not needed.
type State struct {
	Backup *cnpgv1.Backup
	Secret *corev1.Secret
	Job    *batchv1.Job
}

// Observe reads the source of a Dojo's data. live is the Dojo's Cluster, or nil.
func Observe(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, live *cnpgv1.Cluster) (s State, err error) {
	b := dojo.BootstrapSource()
	switch {
	case live != nil && (filled(live) || b == nil && !recovers(live)):
	case live != nil:
		s.Job, err = apply.Get(ctx, r, "Job", nameIn(dojo, jobName(dojo, live)), &batchv1.Job{})
		if s.Job != nil && !metav1.IsControlledBy(s.Job, live) {
			s.Job = nil // the Job of a deleted Cluster with the same name, which may have failed
		}
	case b == nil:
	case b.Import != nil:
		s.Secret, err = readSource(ctx, r, nameIn(dojo, b.Import.SourceSecretRef.Name))
	case b.Recovery.Backup != nil:
		name := nameIn(dojo, b.Recovery.Backup.Name)
		s.Backup, err = apply.Get(ctx, r, cnpg.BackupKind.Kind, name, &cnpgv1.Backup{})
	}
	return s, err
}

func nameIn(dojo *corev1api.Dojo, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: dojo.Namespace, Name: name}
}

func readSource(ctx context.Context, r apply.Reader, name types.NamespacedName) (*corev1.Secret, error) {
	known, err := apply.Get(ctx, r, "Secret", name, apply.Metadata("v1", "Secret"))
	if err != nil || known == nil {
		return nil, err
	}
	return r.ReadSecret(ctx, name)
}

func filled(cluster *cnpgv1.Cluster) bool { return cluster.Status.CurrentPrimary != "" }

// recovers reports whether the Cluster's data comes from a backup, also if the Dojo's spec has no
// bootstrap: `kubectl dojo restore` creates such a Cluster.
func recovers(cluster *cnpgv1.Cluster) bool {
	b := cluster.Spec.Bootstrap
	return b != nil && b.Recovery != nil
}

// jobName returns the name of the Job with which CloudNativePG fills the Cluster.
func jobName(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster) string {
	job := cnpg.RecoveryJob
	switch b := dojo.BootstrapSource(); {
	case recovers(cluster) && cluster.Spec.Bootstrap.Recovery.Source == "":
		job = cnpg.SnapshotJob
	case !recovers(cluster) && b != nil && b.Import != nil:
		job = cnpg.ImportJob
	}
	return job.ObjectName(dojo)
}

// StripJob removes all fields of a foreign Job except identity and numbers of pods.
func StripJob(job *batchv1.Job) {
	active, failed := job.Status.Active, job.Status.Failed
	ownership.Strip(job)
	job.Status = batchv1.JobStatus{Active: active, Failed: failed}
}
