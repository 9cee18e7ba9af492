// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
)

// BackupSpec is what ScheduledBackup and Backup have in common. The method is always named:
// CloudNativePG's default is deprecated.
func BackupSpec(d *corev1api.Dojo, b *corev1api.Backup) map[string]any {
	spec := map[string]any{"cluster": map[string]any{"name": ClusterName(d)}, "method": "volumeSnapshot"}
	if b.Method == corev1api.BackupPlugin {
		spec["method"] = "plugin"
		plugin := map[string]any{"name": b.Plugin.Name}
		if len(b.Plugin.Parameters) > 0 { // so that a Backup says where it is, when its Cluster is gone
			plugin["parameters"] = apply.As[map[string]any](b.Plugin.Parameters)
		}
		spec["pluginConfiguration"] = plugin
	}
	return spec
}

// BackupSpecNow is the spec of a Backup of the Cluster as it is, which may archive elsewhere than the Dojo asks for
// until an upgrade begins: a Backup says where it is.
func BackupSpecNow(d *corev1api.Dojo, c *cnpgv1.Cluster) map[string]any {
	held := *d.BackupPolicy()
	for i := range c.Spec.Plugins {
		if p := &c.Spec.Plugins[i]; held.Plugin != nil && p.Name == held.Plugin.Name {
			plugin := *held.Plugin
			plugin.Parameters = p.Parameters
			held.Plugin = &plugin
		}
	}
	return BackupSpec(d, &held)
}

// BackupFailed reports whether a Backup has ended without one.
func BackupFailed(b *cnpgv1.Backup) bool {
	return b.Status.Phase == cnpgv1.BackupPhaseFailed || b.Status.Phase == cnpgv1.BackupPhaseDefinitionInvalid
}

// MaxBackupTime is how long a backup that is waited for may run before it is called stalled: as long as a large
// database may take.
const MaxBackupTime = 6 * time.Hour
