// SPDX-License-Identifier: Apache-2.0

// Package backup plans the scheduled backups, the first backup and the final backup of a Dojo.
package backup

import (
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of a plan for backups.
type Input struct {
	cnpg.Input
	Cluster *cnpgv1.Cluster
	// Paused suspends the ScheduledBackup. A suspended Dojo sets it, unless others use its Cluster.
	Paused bool
}

// Plan writes the ScheduledBackup once Postgres is up, because the first backup starts immediately.
func Plan(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	switch b := dojo.BackupPolicy(); {
	case b == nil && s.Schedule != nil:
		step.Delete = []apply.Deletion{apply.Delete(cnpg.ScheduleKind.Kind, s.Schedule)}
	case b != nil && cnpg.Up(in.Cluster) && s.Schedule == nil && !accepts(in, b):
		step.Incomplete = conditions.Progressing(corev1api.ReasonWaitingForCluster,
			"The first backup waits until the pods of the Cluster %s/%s have the plugin %s.",
			in.Cluster.Namespace, in.Cluster.Name, b.Plugin.Name).After(noticeTime)
	case b != nil && cnpg.Up(in.Cluster):
		step = cnpg.Write(cnpg.Sync(in.Input, s.Schedule, For(dojo, b, in.Paused)))
		if needsFirst(in.Cluster, s.Schedule) {
			step = step.Then(cnpg.Write(firstBackup(dojo, in.Cluster, s.First)))
		}
	}
	return step
}

// noticeTime is the time in which CloudNativePG notices a changed Cluster, with a reserve.
const noticeTime = 10 * time.Second

// accepts reports whether a Backup can start. A Backup with a plugin that the pods lack fails, and
// is not retried (invokeStart in pkg/management/postgres/webserver/plugin_backup.go).
func accepts(in Input, b *corev1api.Backup) bool {
	if b.Method != corev1api.BackupPlugin {
		return true
	}
	loaded := slices.ContainsFunc(in.Cluster.Status.PluginStatus, func(p cnpgv1.PluginStatus) bool {
		return p.Name == b.Plugin.Name
	})
	changed := cnpg.LastSpecWrite(in.Cluster)
	age := in.Now.Sub(changed) // negative if the API server's clock is ahead
	rolling := slices.Contains([]string{
		cnpgv1.PhaseUpgrade, cnpgv1.PhaseSwitchover,
		cnpgv1.PhaseInplacePrimaryRestart, cnpgv1.PhaseInplaceDeletePrimaryRestart,
	}, in.Cluster.Status.Phase) ||
		changed.After(in.Cluster.CreationTimestamp.Time) && max(age, -age) < noticeTime
	return loaded && !rolling
}

// Pause suspends an existing ScheduledBackup. While others use the Cluster, Pause resumes the
// ScheduledBackup once Postgres is up, because a missed backup starts immediately.
func Pause(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	b, due := dojo.BackupPolicy(), in.Paused || cnpg.Up(in.Cluster)
	if in.Cluster != nil && b != nil && s.Schedule != nil && due {
		step = cnpg.Write(cnpg.Sync(in.Input, s.Schedule, For(dojo, b, in.Paused)))
	}
	return step
}

// Drop deletes the ScheduledBackup.
func Drop(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !ownership.Holds(dojo, s.Schedule) {
		return step
	}
	return cnpg.Removal{Kind: cnpg.ScheduleKind.Kind, Live: s.Schedule}.Drop(in.Input)
}

// For returns the ScheduledBackup of the Dojo's own Cluster.
func For(dojo *corev1api.Dojo, b *corev1api.Backup, paused bool) *unstructured.Unstructured {
	spec := cnpg.BackupSpec(dojo, b)
	spec["schedule"] = "0 " + b.Schedule // a schedule of CloudNativePG has six fields; the first is seconds
	spec["immediate"] = true
	spec["backupOwnerReference"] = "none" // backups outlive their schedule
	if paused {
		spec["suspend"] = true // a backup of a hibernated Cluster never ends
	}
	return ownership.Data(dojo, cnpg.ScheduleKind.GroupVersionKind, cnpg.ScheduleName(dojo), spec)
}

// needsFirst reports whether the ScheduledBackup took its one immediate backup before this Cluster
// existed (ReconcileScheduledBackup). The operator then takes the Cluster's first backup.
func needsFirst(cluster *cnpgv1.Cluster, schedule *cnpgv1.ScheduledBackup) bool {
	return cluster != nil && schedule != nil && schedule.Status.LastScheduleTime != nil &&
		schedule.Status.LastScheduleTime.Before(&cluster.CreationTimestamp)
}

func firstBackup(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, live *cnpgv1.Backup) *apply.Object {
	if live != nil {
		return nil
	}
	name := cnpg.FirstBackupName(dojo, cluster.UID)
	desired := ownership.Data(dojo, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpecNow(dojo, cluster))
	return apply.Write(ownership.FieldOwner, live, desired)
}
