// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// schedule writes the schedule of the backups, or removes it.
func (w *way) schedule() {
	b, live := w.dojo.BackupPolicy(), w.state.Schedule
	switch {
	case b == nil && live != nil:
		w.Plan.Delete = append(w.Plan.Delete, apply.Delete(cnpg.ScheduleKind.Kind, live))
	case b != nil && cnpg.Up(w.state.Cluster): // the first backup is taken at once
		w.Plan.Add(sync(w.state, live, cluster.ScheduleFor(w.dojo, b)))
		if cluster.NeedsFirstBackup(w.state.Cluster, live) {
			w.Plan.Add(cluster.FirstBackup(w.dojo, w.state.Cluster, w.state.FirstBackup))
		}
	}
}

// observeBackups finds the last backup of the Dojo's own Cluster that has completed, and the first where the schedule
// has taken none. A backup is not of the Cluster when it is older: it is of a former one of that name.
func (s *State) observeBackups(ctx context.Context, r apply.Reader, d *corev1api.Dojo) error {
	if d.BackupPolicy() == nil || !s.readable() || s.Cluster == nil {
		return nil
	}
	if cluster.NeedsFirstBackup(s.Cluster, s.Schedule) {
		name := cnpg.FirstBackupName(d, s.Cluster.UID)
		if err := observe(ctx, s, r, cnpg.BackupKind, d.Namespace, name, &s.FirstBackup); err != nil {
			return err
		}
	}
	var backups cnpgv1.BackupList
	if err := r.Cache.List(ctx, &backups, client.InNamespace(d.Namespace)); err != nil {
		return fmt.Errorf("list Backups: %w", err)
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.Spec.Cluster.Name != s.Cluster.Name || b.Status.Phase != cnpgv1.BackupPhaseCompleted ||
			b.CreationTimestamp.Before(&s.Cluster.CreationTimestamp) {
			continue
		}
		if s.LastBackup == nil || cluster.Completed(b).After(cluster.Completed(s.LastBackup)) {
			s.LastBackup = b
		}
	}
	return nil
}

// addBackups adds to the status what is known of the backups. While CloudNativePG's kinds cannot be
// read, that is what was known.
func addBackups(d *corev1api.Dojo, s State, status *corev1api.DatabaseStatus) {
	switch known := d.Status.Database; {
	case d.BackupPolicy() == nil:
	case !s.readable():
		if known != nil {
			status.LastBackup, status.NextBackup = known.LastBackup, known.NextBackup
		}
	default:
		cluster.DescribeBackups(s.LastBackup, s.Schedule, status)
	}
}

// FinalBackup plans the backup before any data is deleted, when nothing writes any more. The plan has
// an issue until it has completed. What has never been filled has nothing to back up.
func FinalBackup(d *corev1api.Dojo, s State, cfg Config) apply.Plan {
	if !bootstrap.Filled(d, s.Cluster) {
		return apply.Plan{}
	}
	if issue := noFinalBackup(d, s); issue != nil {
		return apply.Plan{Issues: []conditions.Issue{*issue}}
	}
	plan := cluster.FinalBackup(d, s.Cluster, s.FinalBackup, s.Now, cfg.Deadline)
	if issue := conditions.Worst(plan.Issues); issue != nil && issue.Reason == corev1api.ReasonClusterHibernated {
		if wakes := wake(d, s, cfg); wakes.Issues != nil {
			return wakes
		}
	}
	return plan
}

// noFinalBackup is the issue with a final backup that cannot be taken: there are no Backups, or the Cluster in the
// place of the Dojo's own is not the Dojo's by its labels, as one that a user has restored.
func noFinalBackup(d *corev1api.Dojo, s State) *conditions.Issue {
	b, saved, held := d.BackupPolicy(), s.FinalBackup, ownership.Holds(d, s.Cluster)
	if b == nil || !b.FinalBackup || s.Cluster.DeletionTimestamp != nil || !held && !ownership.Holds(d, s.Database) ||
		saved != nil && saved.Status.Phase == cnpgv1.BackupPhaseCompleted {
		return nil
	}
	if !s.has(cnpg.BackupKind) {
		return lacks(cnpg.BackupKind, "no final backup can be taken, and no data is deleted",
			"or set the reclaimPolicy to Retain; "+strings.TrimSuffix(cluster.WithoutFinalBackup, "."))
	}
	if held {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonFinalBackupFailed,
		"No final backup can be taken, and no data is deleted: the Cluster %s/%s is not this Dojo's. %s %s",
		d.Namespace, s.Cluster.Name, ownership.HandOver(d, cnpg.ClusterKind.Kind, s.Cluster),
		"Or set the reclaimPolicy to Retain; "+cluster.WithoutFinalBackup)
}
