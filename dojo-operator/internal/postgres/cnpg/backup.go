// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
)

// BarmanCloud is a plugin that refuses a new Cluster if the serverName in the plugin's parameters
// has been used before ("Expected empty archive").
const BarmanCloud = "barman-cloud.cloudnative-pg.io"

// BackupSpec returns the common fields of a ScheduledBackup and a Backup. It always sets the
// method, because the default method is deprecated.
func BackupSpec(dojo *corev1api.Dojo, b *corev1api.Backup) map[string]any {
	spec := map[string]any{"cluster": map[string]any{"name": ClusterName(dojo)}, "method": "volumeSnapshot"}
	if b.Method == corev1api.BackupPlugin {
		spec["method"] = "plugin"
		plugin := map[string]any{"name": b.Plugin.Name}
		// A Backup outlives the Cluster, so the Backup itself must name the location of its data.
		if len(b.Plugin.Parameters) > 0 {
			plugin["parameters"] = apply.As[map[string]any](b.Plugin.Parameters)
		}
		spec["pluginConfiguration"] = plugin
	}
	return spec
}

// BackupSpecNow is [BackupSpec] with the live Cluster's plugin parameters, from which the Dojo's
// spec may differ.
func BackupSpecNow(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster) map[string]any {
	policy := *dojo.BackupPolicy()
	for i := range cluster.Spec.Plugins {
		if p := &cluster.Spec.Plugins[i]; policy.Plugin != nil && p.Name == policy.Plugin.Name {
			plugin := *policy.Plugin
			plugin.Parameters = p.Parameters
			policy.Plugin = &plugin
		}
	}
	return BackupSpec(dojo, &policy)
}

// BackupFailed reports whether a Backup has ended without success.
func BackupFailed(b *cnpgv1.Backup) bool {
	return b.Status.Phase == cnpgv1.BackupPhaseFailed || b.Status.Phase == cnpgv1.BackupPhaseDefinitionInvalid
}

// BackupError returns the error of a failed Backup, without a full stop.
func BackupError(b *cnpgv1.Backup) string {
	text := strings.TrimSuffix(strings.TrimSpace(b.Status.Error), ".")
	return cmp.Or(text, "CloudNativePG does not report the error")
}

// BackupStarted returns the start of a Backup, or nil. It prefers reconciliationStartedAt, because
// a plugin sets startedAt only at the end.
func BackupStarted(b *cnpgv1.Backup) *metav1.Time {
	return cmp.Or(b.Status.ReconciliationStartedAt, b.Status.StartedAt)
}

// OlderBackup describes a Backup that delays another Backup, and returns advice to delete it.
func OlderBackup(b *cnpgv1.Backup) (what, advice string) {
	return fmt.Sprintf("the older Backup %s (phase %q)", b.Name, b.Status.Phase),
		fmt.Sprintf("If the older Backup does not end, delete it: `kubectl delete backups.postgresql.cnpg.io %s -n %s`",
			b.Name, b.Namespace)
}

// BackupLimit returns when the wait for a Backup began, and how long the wait may last.
func BackupLimit(b *cnpgv1.Backup, deadline time.Duration) (since time.Time, limit time.Duration) {
	if started := BackupStarted(b); started != nil {
		return started.Time, MaxBackupTime
	}
	return b.CreationTimestamp.Time, deadline
}

// MaxBackupTime is the time after which a started Backup counts as stalled.
const MaxBackupTime = 6 * time.Hour
