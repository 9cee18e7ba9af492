package dojo

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// backupPolicy is what the spec says about backups, nil where there are none.
func backupPolicy(d *corev1api.Dojo) *corev1api.Backup {
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		return nil
	}
	return d.Spec.Postgres.Cluster.Backup
}

// addBackup adds to a Cluster's spec what its backups need.
func addBackup(spec map[string]any, b *corev1api.Backup) {
	switch {
	case b == nil:
	case b.Method == corev1api.BackupPlugin:
		plugin := map[string]any{"name": b.Plugin.Name, "enabled": true, "isWALArchiver": ptr.Deref(b.Plugin.WALArchiver, true)}
		if len(b.Plugin.Parameters) > 0 {
			plugin["parameters"] = generic[map[string]any](b.Plugin.Parameters)
		}
		spec["plugins"] = []any{plugin}
	case b.Method == corev1api.BackupVolumeSnapshot:
		snapshot := map[string]any{"snapshotOwnerReference": "none"} // snapshots outlive the Cluster
		if b.VolumeSnapshot != nil && b.VolumeSnapshot.ClassName != "" {
			snapshot["className"] = b.VolumeSnapshot.ClassName
		}
		spec["backup"] = map[string]any{"volumeSnapshot": snapshot}
	}
}

// backupSpec is what ScheduledBackup and Backup have in common. The method is always named: CloudNativePG's default is deprecated.
func backupSpec(d *corev1api.Dojo, b *corev1api.Backup) map[string]any {
	spec := map[string]any{"cluster": map[string]any{"name": clusterName(d)}, "method": "volumeSnapshot"}
	if b.Method == corev1api.BackupPlugin {
		spec["method"] = "plugin"
		spec["pluginConfiguration"] = map[string]any{"name": b.Plugin.Name}
	}
	return spec
}

func scheduleFor(d *corev1api.Dojo, b *corev1api.Backup) *unstructured.Unstructured {
	spec := backupSpec(d, b)
	spec["schedule"] = "0 " + b.Schedule // CloudNativePG's has six fields, seconds first
	spec["immediate"] = true
	spec["backupOwnerReference"] = "none" // backups outlive their schedule
	return custom(d, scheduleKind, databaseObject(d), spec)
}

// planBackups writes the schedule of the backups, or takes it away.
func (db *database) planBackups(d *corev1api.Dojo, seen *observed) {
	b := backupPolicy(d)
	switch {
	case b == nil && seen.db.schedule != nil:
		db.remove = append(db.remove, &leftover{scheduleKind.Kind, seen.db.schedule})
	case b != nil && stateOfCluster(seen.db.cluster).up(): // the first backup is taken at once
		if c := planCustom(seen.db.schedule, scheduleFor(d, b)); c != nil {
			db.apply = append(db.apply, c)
		}
	}
}

// backupCondition tells how the last backup ended, nil where none is wanted or none was tried yet.
func backupCondition(d *corev1api.Dojo, seen *observed) *metav1.Condition {
	last := stateOfCluster(seen.db.cluster).backup
	if backupPolicy(d) == nil || last == nil {
		return nil
	}
	c := &metav1.Condition{
		Type: corev1api.ConditionBackupSucceeded, Status: metav1.ConditionTrue,
		Reason: corev1api.ReasonBackupSucceeded, Message: "The last backup has succeeded.",
	}
	if last.Status != metav1.ConditionTrue {
		c.Status, c.Reason = metav1.ConditionFalse, corev1api.ReasonBackupFailed
		c.Message = fmt.Sprintf("The last backup has failed: %s. See `kubectl get backups`.", strings.TrimSuffix(last.Message, "."))
	}
	return c
}

// finalBackupName names the last backup of this very Dojo: that of a former one of the same name may still be there.
func finalBackupName(d *corev1api.Dojo) string {
	return databaseObject(d) + "-final-" + shortHash(string(d.UID))
}

// planFinalBackup takes a last backup before the data goes, and returns nil once it has completed or none is wanted.
func (s *steps) planFinalBackup(d *corev1api.Dojo, seen *observed) error {
	b, name := backupPolicy(d), finalBackupName(d)
	if b == nil || !b.FinalBackup || !kept(d, seen.db.cluster) || seen.db.cluster.GetDeletionTimestamp() != nil {
		return nil
	}
	waiting := &conditions.Waiting{
		Reason: corev1api.ReasonTakingFinalBackup, Message: fmt.Sprintf("Waiting until the Backup %s has completed; nothing is deleted before.", name),
	}
	if seen.db.finalBackup == nil {
		s.add(planCustom(nil, custom(d, backupKind, name, backupSpec(d, b))), nil)
		return waiting
	}
	phase, _, _ := unstructured.NestedString(seen.db.finalBackup.Object, "status", "phase")
	switch phase {
	case "completed":
		return nil
	case "failed":
		why, _, _ := unstructured.NestedString(seen.db.finalBackup.Object, "status", "error")
		return &conditions.Terminal{
			Reason: corev1api.ReasonFinalBackupFailed,
			Message: fmt.Sprintf("The Backup %s has failed, so nothing is deleted: %s. `kubectl delete backup %s` has it tried again; "+
				"without spec.postgres.cluster.backup.finalBackup the data goes without a backup.", name, why, name),
		}
	}
	return waiting
}
