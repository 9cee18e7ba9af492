// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// State is what there is of the backups of a Dojo's own Cluster. What does not exist is nil.
type State struct {
	Schedule *cnpgv1.ScheduledBackup
	// Final is the backup before the data is deleted.
	Final *cnpgv1.Backup
	// Last is the last one that has completed, First the one that stands in for that which the schedule
	// should have taken at once.
	Last, First *cnpgv1.Backup
}

// Observe reads the schedule and the final backup; has reports whether a kind can be read.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, has func(optionalkinds.Kind) bool,
) (s State, err error) {
	if has(cnpg.ScheduleKind) {
		name := types.NamespacedName{Namespace: d.Namespace, Name: cnpg.ScheduleName(d)}
		s.Schedule, err = apply.Get(ctx, r, cnpg.ScheduleKind.Kind, name, &cnpgv1.ScheduledBackup{})
	}
	if err == nil && has(cnpg.BackupKind) {
		s.Final, err = get(ctx, r, d, cnpg.FinalBackupName(d))
	}
	return s, err
}

// ObserveTaken finds the last backup of the Dojo's own Cluster that has completed, and the first where the schedule
// has taken none. A backup that is older than the Cluster is of a former one of that name.
func (s *State) ObserveTaken(ctx context.Context, r apply.Reader, d *corev1api.Dojo, c *cnpgv1.Cluster) (err error) {
	if d.BackupPolicy() == nil || c == nil {
		return nil
	}
	if needsFirst(c, s.Schedule) {
		if s.First, err = get(ctx, r, d, cnpg.FirstBackupName(d, c.UID)); err != nil {
			return err
		}
	}
	var backups cnpgv1.BackupList
	if err := r.Cache.List(ctx, &backups, client.InNamespace(d.Namespace)); err != nil {
		return fmt.Errorf("list Backups: %w", err)
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.Spec.Cluster.Name != c.Name || b.Status.Phase != cnpgv1.BackupPhaseCompleted ||
			b.CreationTimestamp.Before(&c.CreationTimestamp) {
			continue
		}
		if s.Last == nil || completed(b).After(completed(s.Last)) {
			s.Last = b
		}
	}
	return nil
}

func get(ctx context.Context, r apply.Reader, d *corev1api.Dojo, name string) (*cnpgv1.Backup, error) {
	key := types.NamespacedName{Namespace: d.Namespace, Name: name}
	return apply.Get(ctx, r, cnpg.BackupKind.Kind, key, &cnpgv1.Backup{})
}

// maxPlace is how much of a foreign Backup may say where it is, in bytes.
const maxPlace = 1 << 10

// Strip leaves of a foreign Backup, such as one that CloudNativePG has made for a schedule,
// its identity, of which Cluster and how far it is, and where.
func Strip(b *cnpgv1.Backup) {
	spec, was := b.Spec, b.Status
	ownership.Strip(b)
	if !apply.Long(spec.Cluster.Name) {
		b.Spec.Cluster = spec.Cluster
	}
	b.Status = cnpgv1.BackupStatus{
		Phase: was.Phase, StoppedAt: was.StoppedAt, ReconciliationTerminatedAt: was.ReconciliationTerminatedAt,
	}
	if !apply.Long(string(spec.Method), was.BackupID) {
		b.Spec.Method, b.Status.BackupID = spec.Method, was.BackupID
	}
	if place := spec.PluginConfiguration; place != nil && sizeOf(place) <= maxPlace {
		b.Spec.PluginConfiguration = place
	}
}

func sizeOf(place *cnpgv1.BackupPluginConfiguration) int {
	size := len(place.Name)
	for key, value := range place.Parameters {
		size += len(key) + len(value)
	}
	return size
}
