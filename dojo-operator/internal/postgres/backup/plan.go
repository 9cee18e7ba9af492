// SPDX-License-Identifier: Apache-2.0

// Package backup takes the backups of a Dojo's own Cluster: by a schedule, the first one of a Cluster
// whose schedule takes none at once, and the final one before the data is deleted.
package backup

import (
	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// Input is what a plan for backups rests on beside its State.
type Input struct {
	cnpg.Input
	// Cluster is the Dojo's own.
	Cluster *cnpgv1.Cluster
}

// Plan writes the schedule, or removes it. The schedule takes the first backup at once, so it waits for
// the primary.
func Plan(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	switch b := d.BackupPolicy(); {
	case b == nil && s.Schedule != nil:
		step.Delete = []apply.Deletion{apply.Delete(cnpg.ScheduleKind.Kind, s.Schedule)}
	case b != nil && cnpg.Up(in.Cluster):
		step = cnpg.Write(cnpg.Sync(in.Input, s.Schedule, For(d, b)))
		if needsFirst(in.Cluster, s.Schedule) {
			step = step.Then(cnpg.Write(first(d, in.Cluster, s.First)))
		}
	}
	return step
}

// Pause writes the schedule of a Dojo that is suspended.
func Pause(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if b := d.BackupPolicy(); in.Cluster != nil && b != nil && s.Schedule != nil {
		step = cnpg.Write(cnpg.Sync(in.Input, s.Schedule, For(d, b)))
	}
	return step
}

// Drop deletes the schedule.
func Drop(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !ownership.Holds(d, s.Schedule) {
		return step
	}
	return cnpg.Removal{Kind: cnpg.ScheduleKind.Kind, Live: s.Schedule}.Drop(in.Input)
}

// For is the schedule of the backups of a Dojo's own Cluster.
func For(d *corev1api.Dojo, b *corev1api.Backup) *unstructured.Unstructured {
	spec := cnpg.BackupSpec(d, b)
	spec["schedule"] = "0 " + b.Schedule // CloudNativePG's has six fields, seconds first
	spec["immediate"] = true
	spec["backupOwnerReference"] = "none" // backups outlive their schedule
	if d.Spec.Suspend {
		spec["suspend"] = true // a backup of a Cluster that is hibernated waits for ever
	}
	return ownership.Data(d, cnpg.ScheduleKind.GroupVersionKind, cnpg.ScheduleName(d), spec)
}

// needsFirst reports whether the schedule of a Cluster has taken no backup at once, because there is one that
// the schedule of a former Cluster of that name took at once: CloudNativePG regards that as its own
// (internal/controller/scheduledbackup_controller.go, ReconcileScheduledBackup). Then nothing of the new Cluster could
// be restored before the schedule's next time.
func needsFirst(c *cnpgv1.Cluster, schedule *cnpgv1.ScheduledBackup) bool {
	return c != nil && schedule != nil && schedule.Status.LastScheduleTime != nil &&
		schedule.Status.LastScheduleTime.Before(&c.CreationTimestamp)
}

// first is the first backup of a Cluster that needs one.
func first(d *corev1api.Dojo, c *cnpgv1.Cluster, live *cnpgv1.Backup) *apply.Object {
	if live != nil {
		return nil
	}
	name := cnpg.FirstBackupName(d, c.UID)
	desired := ownership.Data(d, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpecNow(d, c))
	return apply.Write(ownership.FieldOwner, live, desired)
}
