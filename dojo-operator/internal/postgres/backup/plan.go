// SPDX-License-Identifier: Apache-2.0

// Package backup takes a Dojo's scheduled backups, the first one, and the final one before
// deletion.
package backup

import (
	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

// Input is the input of a plan for backups.
type Input struct {
	cnpg.Input
	Cluster *cnpgv1.Cluster
}

// Plan writes or removes the schedule, which takes its first backup once Postgres is up.
func Plan(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	switch b := d.BackupPolicy(); {
	case b == nil && s.Schedule != nil:
		step.Delete = []apply.Deletion{apply.Delete(cnpg.ScheduleKind.Kind, s.Schedule)}
	case b != nil && cnpg.Up(in.Cluster):
		step = cnpg.Write(cnpg.Sync(in.Input, s.Schedule, For(d, b)))
		if needsFirst(in.Cluster, s.Schedule) {
			step = step.Then(cnpg.Write(firstBackup(d, in.Cluster, s.First)))
		}
	}
	return step
}

// Pause suspends an existing schedule.
func Pause(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if b := d.BackupPolicy(); in.Cluster != nil && b != nil && s.Schedule != nil {
		step = cnpg.Write(cnpg.Sync(in.Input, s.Schedule, For(d, b)))
	}
	return step
}

func Drop(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !ownership.Holds(d, s.Schedule) {
		return step
	}
	return cnpg.Removal{Kind: cnpg.ScheduleKind.Kind, Live: s.Schedule}.Drop(in.Input)
}

// For returns the ScheduledBackup of the Dojo's own Cluster.
func For(d *corev1api.Dojo, b *corev1api.Backup) *unstructured.Unstructured {
	spec := cnpg.BackupSpec(d, b)
	spec["schedule"] = "0 " + b.Schedule // CloudNativePG's has six fields, seconds first
	spec["immediate"] = true
	spec["backupOwnerReference"] = "none" // backups outlive their schedule
	if d.Spec.Suspend {
		spec["suspend"] = true // a backup of a hibernated Cluster never ends
	}
	return ownership.Data(d, cnpg.ScheduleKind.GroupVersionKind, cnpg.ScheduleName(d), spec)
}

// needsFirst reports whether nothing of this Cluster could be restored before the schedule's next
// time: CloudNativePG counts the first backup of a former Cluster (ReconcileScheduledBackup).
func needsFirst(c *cnpgv1.Cluster, schedule *cnpgv1.ScheduledBackup) bool {
	return c != nil && schedule != nil && schedule.Status.LastScheduleTime != nil &&
		schedule.Status.LastScheduleTime.Before(&c.CreationTimestamp)
}

func firstBackup(d *corev1api.Dojo, c *cnpgv1.Cluster, live *cnpgv1.Backup) *apply.Object {
	if live != nil {
		return nil
	}
	name := cnpg.FirstBackupName(d, c.UID)
	desired := ownership.Data(d, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpecNow(d, c))
	return apply.Write(ownership.FieldOwner, live, desired)
}
