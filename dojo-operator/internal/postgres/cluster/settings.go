// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
)

func webhookRefusal() apply.Refusal {
	return apply.Refusal{
		Reason: corev1api.ReasonClusterRefused,
		Advice: "The Cluster stays as it is. The error names a field of the Cluster. Correct the field with the same or a " +
			"similar name in spec.postgres.cluster of the Dojo.",
	}
}

func volume(want corev1api.PostgresStorage) map[string]any {
	storage := map[string]any{"size": want.Size.String()}
	if class := want.StorageClassName; class != "" {
		storage["storageClass"] = class
	}
	return storage
}

func addSettings(spec map[string]any, want *corev1api.PostgresCluster) {
	if want.WALStorage != nil {
		spec["walStorage"] = volume(*want.WALStorage)
	}
	postgresql := map[string]any{}
	if len(want.Parameters) > 0 {
		postgresql["parameters"] = apply.As[map[string]any](want.Parameters)
	}
	if sync := want.Synchronous; sync != nil {
		postgresql["synchronous"] = map[string]any{
			"method": "any", "number": int64(sync.Number),
			// Only both fields together prevent the loss of acknowledged commits
			// (docs/src/failover.md, Failover quorum).
			"dataDurability": "required", "failoverQuorum": true,
		}
	}
	if len(postgresql) > 0 {
		spec["postgresql"] = postgresql
	}
	if affinity := affinityFor(want.Affinity); len(affinity) > 0 {
		spec["affinity"] = affinity
	}
}

func affinityFor(want *corev1api.PostgresAffinity) map[string]any {
	if want == nil {
		return nil
	}
	affinity := &cnpgv1.AffinityConfiguration{
		TopologyKey: want.TopologyKey, NodeSelector: want.NodeSelector, Tolerations: want.Tolerations,
	}
	switch want.PodAntiAffinity {
	case "":
	case corev1api.PodAntiAffinityDisabled:
		affinity.EnablePodAntiAffinity = new(false)
	case corev1api.PodAntiAffinityPreferred, corev1api.PodAntiAffinityRequired:
		affinity.PodAntiAffinityType = strings.ToLower(string(want.PodAntiAffinity))
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(affinity)
	if err != nil {
		panic(err) // impossible: all fields of the type are JSON
	}
	return fields
}

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
