// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/apply"
)

// For returns the desired Cluster without empty fields. Because of some empty fields, CloudNativePG
// would restart the primary again and again.
func For(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in images.Input) *unstructured.Unstructured {
	want := sized(dojo.Spec.Postgres.Cluster, live)
	instances := ptr.Deref(want.Instances, 1)
	spec := map[string]any{
		"description": fmt.Sprintf("database of Dojo %s/%s", dojo.Namespace, dojo.Name),
		"instances":   int64(instances),
		"storage":     volume(want.Storage),
		// A smart shutdown waits up to three minutes for a pool's connections, and so delays a
		// failover (TryShuttingDownSmartFast in pkg/management/postgres/instance.go).
		"smartShutdownTimeout": int64(0),
	}
	if instances > 1 {
		// The default, a restart of the primary, interrupts writes (docs/src/rolling_update.md).
		spec["primaryUpdateMethod"] = string(cnpgv1.PrimaryUpdateMethodSwitchover)
	}
	image := images.For(dojo, live, in)
	if image != "" {
		spec["imageName"] = image
	}
	if resources := apply.As[map[string]any](want.Resources); len(resources) > 0 {
		spec["resources"] = resources
	}
	addSettings(spec, want)
	addBackup(spec, want.Backup)
	cluster := ownership.Data(dojo, cnpg.ClusterKind.GroupVersionKind, cnpg.ObjectName(dojo), spec)
	if image != "" && want.Version != "" {
		cnpg.Change{Annotations: map[string]string{images.Annotation: image}}.Make(cluster)
	}
	return cluster
}
