// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// State is what there is of what the data comes from. What does not exist is nil, and so is what is
// not needed.
type State struct {
	// Backup is that of a recovery, read while there is no Cluster.
	Backup *cnpgv1.Backup
	// Secret is that of an import, read while there is no Cluster.
	Secret *corev1.Secret
	// Job is CloudNativePG's that fills the Cluster, read until that has a primary.
	Job *batchv1.Job
}

// Observe reads what the data of a Dojo comes from; live is its Cluster, nil where there is none.
func Observe(ctx context.Context, r apply.Reader, d *corev1api.Dojo, live *cnpgv1.Cluster) (s State, err error) {
	b := d.BootstrapSource()
	switch {
	case b == nil:
	case live != nil && filled(live):
	case live != nil:
		s.Job, err = apply.Get(ctx, r, "Job", nameIn(d, jobName(d, live)), &batchv1.Job{})
	case b.Import != nil:
		s.Secret, err = readSource(ctx, r, nameIn(d, b.Import.SourceSecretRef.Name))
	case b.Recovery.Backup != nil:
		name := nameIn(d, b.Recovery.Backup.Name)
		s.Backup, err = apply.Get(ctx, r, cnpg.BackupKind.Kind, name, &cnpgv1.Backup{})
	}
	return s, err
}

func nameIn(d *corev1api.Dojo, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: d.Namespace, Name: name}
}

func readSource(ctx context.Context, r apply.Reader, name types.NamespacedName) (*corev1.Secret, error) {
	known, err := apply.Get(ctx, r, "Secret", name, apply.Metadata("v1", "Secret"))
	if err != nil || known == nil {
		return nil, err
	}
	return r.ReadSecret(ctx, name)
}

// filled reports whether a Cluster has its data: the instance manager has named a primary.
func filled(c *cnpgv1.Cluster) bool { return c.Status.CurrentPrimary != "" }

// jobName is the name of the Job that fills a Cluster (pkg/specs/jobs.go).
func jobName(d *corev1api.Dojo, c *cnpgv1.Cluster) string {
	names := cnpg.BootstrapJobs(d)
	if b := c.Spec.Bootstrap; b != nil && b.Recovery != nil && b.Recovery.Source == "" {
		return names[len(names)-1] // of snapshots
	}
	return names[0]
}

// StripJob leaves of a foreign Job, such as CloudNativePG's that fills a Cluster, its identity and how
// many of its pods have failed.
func StripJob(job *batchv1.Job) {
	active, failed := job.Status.Active, job.Status.Failed
	ownership.Strip(job)
	job.Status = batchv1.JobStatus{Active: active, Failed: failed}
}
