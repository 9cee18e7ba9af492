// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// schedule writes the schedule of the backups, or removes it.
func (w *way) schedule() {
	b, live := w.dojo.BackupPolicy(), w.state.Schedule
	switch {
	case b == nil && live != nil:
		w.Plan.Delete = append(w.Plan.Delete, apply.Delete(cnpg.ScheduleKind.Kind, live))
	case b != nil && cluster.Up(w.state.Cluster): // the first backup is taken at once
		w.Plan.Add(sync(w.state, live, cluster.ScheduleFor(w.dojo, b)))
	}
}

// observeBackups finds the last backup of the Dojo's own Cluster that has completed.
func (s *State) observeBackups(ctx context.Context, r apply.Reader, d *corev1api.Dojo) error {
	if d.BackupPolicy() == nil || !s.readable() {
		return nil
	}
	var backups cnpgv1.BackupList
	if err := r.Cache.List(ctx, &backups, client.InNamespace(d.Namespace)); err != nil {
		return fmt.Errorf("list Backups: %w", err)
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.Spec.Cluster.Name != cnpg.ClusterName(d) || b.Status.Phase != cnpgv1.BackupPhaseCompleted {
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
		if last := s.LastBackup; last != nil {
			status.LastBackup = &corev1api.CompletedBackup{Name: last.Name, Time: metav1.NewTime(cluster.Completed(last))}
		}
		if s.Schedule != nil {
			status.NextBackup = s.Schedule.Status.NextScheduleTime
		}
	}
}

// FinalBackup plans the backup before any data is deleted, when nothing writes any more. The plan has
// an issue until it has completed.
func FinalBackup(d *corev1api.Dojo, s State, cfg Config) apply.Plan {
	return cluster.FinalBackup(d, s.Cluster, s.FinalBackup, s.Now, cfg.Deadline)
}
