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

// State holds the observed backups. An object that does not exist is nil.
type State struct {
	Schedule *cnpgv1.ScheduledBackup
	Final    *cnpgv1.Backup
	// Last is the latest completed Backup. First is the first Backup of the Cluster if the operator
	// has taken it (needsFirst).
	Last, First *cnpgv1.Backup
}

// Observe reads the schedule and the final backup. has reports whether a kind can be read.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, has func(optionalkinds.Kind) bool,
) (s State, err error) {
	if has(cnpg.ScheduleKind) {
		name := types.NamespacedName{Namespace: dojo.Namespace, Name: cnpg.ScheduleName(dojo)}
		s.Schedule, err = apply.Get(ctx, r, cnpg.ScheduleKind.Kind, name, &cnpgv1.ScheduledBackup{})
	}
	if err == nil && has(cnpg.BackupKind) {
		s.Final, err = get(ctx, r, dojo, cnpg.FinalBackupName(dojo))
	}
	return s, err
}

// ObserveTaken finds Last and First. It ignores Backups that are older than the Cluster: they are
// of an earlier, deleted Cluster.
func (s *State) ObserveTaken(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, cluster *cnpgv1.Cluster,
) (err error) {
	if dojo.BackupPolicy() == nil || cluster == nil {
		return nil
	}
	if needsFirst(cluster, s.Schedule) {
		if s.First, err = get(ctx, r, dojo, cnpg.FirstBackupName(dojo, cluster.UID)); err != nil {
			return err
		}
	}
	var backups cnpgv1.BackupList
	if err := r.Cache.List(ctx, &backups, client.InNamespace(dojo.Namespace)); err != nil {
		return fmt.Errorf("list Backups: %w", err)
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.Spec.Cluster.Name != cluster.Name || b.Status.Phase != cnpgv1.BackupPhaseCompleted ||
			b.CreationTimestamp.Before(&cluster.CreationTimestamp) {
			continue
		}
		if s.Last == nil || completed(b).After(completed(s.Last)) {
			s.Last = b
		}
	}
	return nil
}

func get(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, name string) (*cnpgv1.Backup, error) {
	key := types.NamespacedName{Namespace: dojo.Namespace, Name: name}
	return apply.Get(ctx, r, cnpg.BackupKind.Kind, key, &cnpgv1.Backup{})
}

// maxPluginConfiguration is the maximum size in bytes of a plugin configuration that Strip keeps.
const maxPluginConfiguration = 1 << 10

// Strip removes fields of a foreign Backup before it enters the cache. It keeps the identity, the
// Cluster, the progress and the location.
func Strip(b *cnpgv1.Backup) {
	spec, status := b.Spec, b.Status
	ownership.Strip(b)
	if !apply.Long(spec.Cluster.Name) {
		b.Spec.Cluster = spec.Cluster
	}
	b.Status = cnpgv1.BackupStatus{
		Phase: status.Phase, StoppedAt: status.StoppedAt, ReconciliationTerminatedAt: status.ReconciliationTerminatedAt,
	}
	if !apply.Long(string(spec.Method), status.BackupID) {
		b.Spec.Method, b.Status.BackupID = spec.Method, status.BackupID
	}
	if plugin := spec.PluginConfiguration; plugin != nil && sizeOf(plugin) <= maxPluginConfiguration {
		b.Spec.PluginConfiguration = plugin
	}
}

func sizeOf(plugin *cnpgv1.BackupPluginConfiguration) int {
	size := len(plugin.Name)
	for key, value := range plugin.Parameters {
		size += len(key) + len(value)
	}
	return size
}
