// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// sized keeps a live volume that is larger than desired, because a volume cannot shrink. It does so
// only if the spec names a size.
func sized(want *corev1api.PostgresCluster, live *cnpgv1.Cluster) *corev1api.PostgresCluster {
	if want.Size == "" || live == nil {
		return want
	}
	want = want.DeepCopy()
	KeepCapacity(want, live.Spec.StorageConfiguration.Size)
	return want
}

// KeepCapacity raises spec.storage.size to the capacity of the present or former volume, which the
// data may need. It ignores a capacity that is not a quantity.
func KeepCapacity(want *corev1api.PostgresCluster, capacity string) {
	if has, err := resource.ParseQuantity(capacity); err == nil && has.Cmp(want.Storage.Size) > 0 {
		want.Storage.Size = has
	}
}

// KeepLive returns a copy of a Dojo whose size is not resolved. Where the spec does not set the
// instances, the resources or a parameter, the copy has the live Cluster's value. The copy has no
// parameter that CloudNativePG has added. Without a live Cluster, KeepLive returns the Dojo itself.
func KeepLive(dojo *corev1api.Dojo, live *cnpgv1.Cluster) *corev1api.Dojo {
	if live == nil {
		return dojo
	}
	dojo = dojo.DeepCopy()
	own := dojo.Spec.Postgres.Cluster
	if own.Instances == nil {
		own.Instances = new(int32(live.Spec.Instances)) //nolint:gosec // G115: at most 9
	}
	if own.Resources == nil {
		own.Resources = live.Spec.Resources.DeepCopy()
	}
	ours := apply.OwnedFields(ownership.FieldOwner, live)
	parameters := map[string]corev1api.ParameterValue{}
	for name, value := range live.Spec.PostgresConfiguration.Parameters {
		if ours.Has(fieldpath.MakePathOrDie("spec", "postgresql", "parameters", name)) {
			parameters[name] = corev1api.ParameterValue(value)
		}
	}
	maps.Copy(parameters, own.Parameters)
	own.Parameters = parameters
	return dojo
}

// SizeOf returns the status of spec.postgres.cluster.size, or nil without a size. If the size is
// unknown, the status has the live Cluster's values, or else the last known values of a lost
// Cluster. If these are unknown too, the status is nil.
func SizeOf(dojo *corev1api.Dojo, live *cnpgv1.Cluster, unknown bool) *corev1api.SizeStatus {
	own, lost := dojo.Spec.Postgres.Cluster, lastSize(dojo)
	switch {
	case own == nil || own.Size == "":
		return nil
	case unknown && live == nil:
		return lost
	case unknown:
		own = KeepLive(dojo, live).Spec.Postgres.Cluster
	}
	own = sized(own.DeepCopy(), live)
	if live == nil && lost != nil { // the restored data may need the whole volume of the lost Cluster
		KeepCapacity(own, lost.Storage)
	}
	status := &corev1api.SizeStatus{
		Name: own.Size, Instances: ptr.Deref(own.Instances, 1), Storage: own.Storage.Size.String(),
	}
	if own.Resources != nil {
		status.CPU = quantity(own.Resources.Requests, corev1.ResourceCPU)
		status.Memory = quantity(own.Resources.Requests, corev1.ResourceMemory)
	}
	return status
}

// lastSize returns the last known values of the Dojo's Cluster, or nil if none are known.
func lastSize(dojo *corev1api.Dojo) *corev1api.SizeStatus {
	if known := dojo.Status.Database; known != nil && known.ClusterUID != "" {
		return known.Size
	}
	return nil
}

func quantity(list corev1.ResourceList, name corev1.ResourceName) string {
	if q, found := list[name]; found {
		return q.String()
	}
	return ""
}
