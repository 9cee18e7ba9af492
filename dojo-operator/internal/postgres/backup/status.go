// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// Condition returns the condition BackupSucceeded, or nil if no result is known. The condition is
// False if the last backup failed, or if the write-ahead log is not archived.
func Condition(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster) *metav1.Condition {
	if dojo.BackupPolicy() == nil || cluster == nil {
		return nil
	}
	last := lastBackup(dojo, cluster)
	archiving := meta.FindStatusCondition(cluster.Status.Conditions, string(cnpgv1.ConditionContinuousArchiving))
	lastFailed := last != nil && last.Status == metav1.ConditionFalse
	if lastFailed || archiving == nil || archiving.Status != metav1.ConditionFalse {
		return last
	}
	return condition(dojo, metav1.ConditionFalse, corev1api.ReasonArchivingFailed, conditions.Truncated(fmt.Sprintf(
		"The write-ahead log is not archived: %s. Until the log is archived, no backup completes, and the log fills the "+
			"volume. See "+
			"`kubectl logs %s -n %s --all-containers`.",
		strings.TrimSuffix(archiving.Message, "."), cluster.Status.CurrentPrimary, dojo.Namespace)))
}

// lastBackup keeps the known result while CloudNativePG reports BackupStarted instead of a result.
func lastBackup(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster) *metav1.Condition {
	switch last := meta.FindStatusCondition(cluster.Status.Conditions, string(cnpgv1.ConditionBackup)); {
	case last == nil:
		return nil
	case last.Status == metav1.ConditionTrue:
		return condition(dojo, metav1.ConditionTrue, corev1api.ReasonBackupSucceeded, "The last backup succeeded.")
	case last.Reason == string(cnpgv1.ConditionReasonLastBackupFailed):
		return condition(dojo, metav1.ConditionFalse, corev1api.ReasonBackupFailed, conditions.Truncated(
			fmt.Sprintf("The last backup failed: %s. See `kubectl dojo backups %s -n %s`.",
				strings.TrimSuffix(last.Message, "."), dojo.Name, dojo.Namespace)))
	}
	known := meta.FindStatusCondition(dojo.Status.Conditions, corev1api.ConditionBackupSucceeded)
	if known == nil || known.Reason == corev1api.ReasonArchivingFailed {
		return nil
	}
	return condition(dojo, known.Status, known.Reason, known.Message)
}

func condition(
	dojo *corev1api.Dojo, status metav1.ConditionStatus, reason, message string,
) *metav1.Condition {
	return &metav1.Condition{
		Type: corev1api.ConditionBackupSucceeded, ObservedGeneration: dojo.Generation,
		Status: status, Reason: reason, Message: message,
	}
}

func completed(b *cnpgv1.Backup) time.Time {
	for _, at := range []*metav1.Time{b.Status.StoppedAt, b.Status.ReconciliationTerminatedAt} {
		if at != nil {
			return at.Time
		}
	}
	return b.CreationTimestamp.Time
}

// Describe sets the backup fields of a Dojo's status, or keeps them if Backups cannot be read.
func Describe(dojo *corev1api.Dojo, s State, readable bool, status *corev1api.DatabaseStatus) {
	if dojo.BackupPolicy() == nil {
		return
	}
	if !readable {
		if known := dojo.Status.Database; known != nil {
			status.LastBackup, status.NextBackup = known.LastBackup, known.NextBackup
		}
		return
	}
	if s.Last != nil {
		status.LastBackup = &corev1api.CompletedBackup{Name: s.Last.Name, Time: metav1.NewTime(completed(s.Last))}
	}
	if s.Schedule != nil && !ptr.Deref(s.Schedule.Spec.Suspend, false) {
		status.NextBackup = s.Schedule.Status.NextScheduleTime
	}
}
