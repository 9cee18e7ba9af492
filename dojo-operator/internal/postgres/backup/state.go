// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// State has the observed backups. An absent object is nil.
type State struct {
	Schedule *cnpgv1.ScheduledBackup
	Final    *cnpgv1.Backup
	// Last is the latest completed Backup, First the Backup with the name FirstBackupName.
	Last, First *cnpgv1.Backup
	// Unfinished is sorted, oldest first. CloudNativePG takes one Backup at a time.
	Unfinished []*cnpgv1.Backup
}

// Before returns the oldest Backup that CloudNativePG takes before b, or nil.
func (s *State) Before(b *cnpgv1.Backup) *cnpgv1.Backup {
	if b == nil || cnpg.BackupStarted(b) != nil || len(s.Unfinished) == 0 || s.Unfinished[0].Name == b.Name {
		return nil
	}
	return s.Unfinished[0]
}

// Running returns the name of a Backup that may still succeed, or "".
func (s *State) Running(now time.Time, deadline time.Duration) string {
	for _, b := range s.Unfinished {
		if since, limit := cnpg.BackupLimit(b, deadline); now.Sub(since) < limit && !cnpg.BackupFailed(b) {
			return b.Name
		}
	}
	return ""
}

// Observe reads the ScheduledBackup and the final Backup, if their kinds can be read.
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

// ObserveTaken sets Last, First and Unfinished. Last ignores Backups of an earlier Cluster.
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
		former := b.CreationTimestamp.Before(&cluster.CreationTimestamp)
		switch phase := b.Status.Phase; {
		case b.Spec.Cluster.Name != cluster.Name || cnpg.BackupFailed(b):
		case phase != cnpgv1.BackupPhaseCompleted:
			s.Unfinished = append(s.Unfinished, b)
		case !former && (s.Last == nil || completed(b).After(completed(s.Last))):
			s.Last = b
		}
	}
	slices.SortFunc(s.Unfinished, func(a, b *cnpgv1.Backup) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return nil
}

func get(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, name string) (*cnpgv1.Backup, error) {
	key := types.NamespacedName{Namespace: dojo.Namespace, Name: name}
	return apply.Get(ctx, r, cnpg.BackupKind.Kind, key, &cnpgv1.Backup{})
}

const maxPluginConfiguration = 1 << 10

// Strip removes all fields of a foreign Backup except identity, Cluster, progress and location.
func Strip(b *cnpgv1.Backup) {
	spec, status := b.Spec, b.Status
	ownership.Strip(b)
	if !apply.Long(spec.Cluster.Name) {
		b.Spec.Cluster = spec.Cluster
	}
	b.Status = cnpgv1.BackupStatus{
		Phase: status.Phase, StartedAt: status.StartedAt, StoppedAt: status.StoppedAt,
		ReconciliationStartedAt:    status.ReconciliationStartedAt,
		ReconciliationTerminatedAt: status.ReconciliationTerminatedAt,
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
