// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// addBackup adds to a Cluster's spec what its backups need.
func addBackup(spec map[string]any, b *corev1api.Backup) {
	switch {
	case b == nil:
	case b.Method == corev1api.BackupPlugin:
		archiver := ptr.Deref(b.Plugin.WALArchiver, true)
		plugin := map[string]any{"name": b.Plugin.Name, "enabled": true, "isWALArchiver": archiver}
		if len(b.Plugin.Parameters) > 0 {
			plugin["parameters"] = apply.As[map[string]any](b.Plugin.Parameters)
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

// ScheduleFor is the schedule of the backups of a Dojo's own Cluster.
func ScheduleFor(d *corev1api.Dojo, b *corev1api.Backup) *unstructured.Unstructured {
	spec := cnpg.BackupSpec(d, b)
	spec["schedule"] = "0 " + b.Schedule // CloudNativePG's has six fields, seconds first
	spec["immediate"] = true
	spec["backupOwnerReference"] = "none" // backups outlive their schedule
	if d.Spec.Suspend {
		spec["suspend"] = true // a backup of a Cluster that is hibernated waits for ever
	}
	return ownership.Data(d, cnpg.ScheduleKind.GroupVersionKind, cnpg.ScheduleName(d), spec)
}

// NeedsFirstBackup reports whether the schedule of a Cluster has taken no backup at once, because there is one that
// the schedule of a former Cluster of that name took at once: CloudNativePG regards that as its own
// (internal/controller/scheduledbackup_controller.go, ReconcileScheduledBackup). Then nothing of the new Cluster could
// be restored before the schedule's next time.
func NeedsFirstBackup(c *cnpgv1.Cluster, schedule *cnpgv1.ScheduledBackup) bool {
	return c != nil && schedule != nil && schedule.Status.LastScheduleTime != nil &&
		schedule.Status.LastScheduleTime.Before(&c.CreationTimestamp)
}

// FirstBackup is the first backup of a Cluster that needs one.
func FirstBackup(d *corev1api.Dojo, c *cnpgv1.Cluster, live *cnpgv1.Backup) *apply.Object {
	if live != nil {
		return nil
	}
	desired := ownership.Data(d, cnpg.BackupKind.GroupVersionKind, cnpg.FirstBackupName(d, c.UID), cnpg.BackupSpecNow(d, c))
	return apply.Write(ownership.FieldOwner, live, desired)
}

// BackupCondition is how the last backup ended, or that the log is not archived, without which none
// completes; nil where there is nothing to report.
func BackupCondition(d *corev1api.Dojo, cluster *cnpgv1.Cluster) *metav1.Condition {
	if d.BackupPolicy() == nil || cluster == nil {
		return nil
	}
	last := lastBackup(d, cluster)
	archiving := meta.FindStatusCondition(cluster.Status.Conditions, string(cnpgv1.ConditionContinuousArchiving))
	lastFailed := last != nil && last.Status == metav1.ConditionFalse
	if lastFailed || archiving == nil || archiving.Status != metav1.ConditionFalse {
		return last
	}
	return backupCondition(d, metav1.ConditionFalse, corev1api.ReasonArchivingFailed, conditions.Truncated(fmt.Sprintf(
		"The write-ahead log is not archived, so that no backup completes, and it fills the volume: %s. "+
			"See `kubectl logs %s --all-containers`.",
		strings.TrimSuffix(archiving.Message, "."), cluster.Status.CurrentPrimary)))
}

// lastBackup is how the last backup ended. While one runs, CloudNativePG's own condition is False with
// the reason BackupStarted: what was known stands.
func lastBackup(d *corev1api.Dojo, cluster *cnpgv1.Cluster) *metav1.Condition {
	switch last := meta.FindStatusCondition(cluster.Status.Conditions, string(cnpgv1.ConditionBackup)); {
	case last == nil:
		return nil
	case last.Status == metav1.ConditionTrue:
		return backupCondition(d, metav1.ConditionTrue, corev1api.ReasonBackupSucceeded, "The last backup succeeded.")
	case last.Reason == string(cnpgv1.ConditionReasonLastBackupFailed):
		return backupCondition(d, metav1.ConditionFalse, corev1api.ReasonBackupFailed, conditions.Truncated(
			"The last backup failed: "+strings.TrimSuffix(last.Message, ".")+". See `kubectl get backups`."))
	}
	known := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionBackupSucceeded)
	if known == nil || known.Reason == corev1api.ReasonArchivingFailed {
		return nil
	}
	return backupCondition(d, known.Status, known.Reason, known.Message)
}

func backupCondition(
	d *corev1api.Dojo, status metav1.ConditionStatus, reason, message string,
) *metav1.Condition {
	return &metav1.Condition{
		Type: corev1api.ConditionBackupSucceeded, ObservedGeneration: d.Generation,
		Status: status, Reason: reason, Message: message,
	}
}

// Completed is when a backup completed.
func Completed(b *cnpgv1.Backup) time.Time {
	for _, at := range []*metav1.Time{b.Status.StoppedAt, b.Status.ReconciliationTerminatedAt} {
		if at != nil {
			return at.Time
		}
	}
	return b.CreationTimestamp.Time
}

// DescribeBackups adds to the status of a Dojo what is known of its backups; nil is what does not exist.
func DescribeBackups(last *cnpgv1.Backup, schedule *cnpgv1.ScheduledBackup, status *corev1api.DatabaseStatus) {
	if last != nil {
		status.LastBackup = &corev1api.CompletedBackup{Name: last.Name, Time: metav1.NewTime(Completed(last))}
	}
	if schedule != nil && !ptr.Deref(schedule.Spec.Suspend, false) {
		status.NextBackup = schedule.Status.NextScheduleTime
	}
}

// maxPlace is how much of a foreign Backup may say where it is, in bytes.
const maxPlace = 1 << 10

// StripBackup leaves of a foreign Backup, such as one that CloudNativePG has made for a schedule,
// its identity, of which Cluster and how far it is, and where.
func StripBackup(b *cnpgv1.Backup) {
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

// WithoutFinalBackup says what a user may do where the final backup cannot be taken.
const WithoutFinalBackup = "without spec.postgres.cluster.backup.finalBackup the data is deleted without a backup."

// FinalBackup plans the backup before any data is deleted, when nothing writes any more. The plan has
// an issue until it has completed.
func FinalBackup(
	d *corev1api.Dojo, cluster *cnpgv1.Cluster, live *cnpgv1.Backup, now time.Time, deadline time.Duration,
) (p apply.Plan) {
	b, name := d.BackupPolicy(), cnpg.FinalBackupName(d)
	if b == nil || !b.FinalBackup || !ownership.Holds(d, cluster) || cluster.DeletionTimestamp != nil {
		return p
	}
	taking := conditions.Progressing(corev1api.ReasonTakingFinalBackup,
		"Waiting until the Backup %s has completed; no data is deleted before.", name)
	switch {
	case live != nil && live.Status.Phase == cnpgv1.BackupPhaseCompleted:
		return p
	case live != nil && cnpg.BackupFailed(live):
		taking = conditions.Degraded(corev1api.ReasonFinalBackupFailed,
			"The Backup %s has failed, so no data is deleted: %s. Retry it with `kubectl delete backup %s`; "+WithoutFinalBackup,
			name, strings.TrimSuffix(live.Status.Error, "."), name)
	case cnpg.Hibernates(cluster):
		taking = conditions.Degraded(corev1api.ReasonClusterHibernated, "The Cluster %s/%s is hibernated, "+
			"so that no final backup can be taken. Resume it with `kubectl annotate cluster %s %s-`; "+WithoutFinalBackup,
			d.Namespace, cluster.Name, cluster.Name, cnpg.HibernationAnnotation)
	case live == nil:
		desired := ownership.Data(d, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpecNow(d, cluster))
		p.Add(apply.Write(ownership.FieldOwner, live, desired))
	default:
		since := live.CreationTimestamp.Time
		if started := live.Status.StartedAt; started != nil {
			deadline, since = cnpg.MaxBackupTime, started.Time
		}
		taking = conditions.WaitUntil(now, since, deadline, taking, cnpg.DeletionStalled("the Backup "+name+" to complete",
			"See `kubectl describe backup "+name+"`; "+WithoutFinalBackup))
	}
	p.Report(taking)
	return p
}
