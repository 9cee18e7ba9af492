// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// sized keeps the live volume if it is larger, because a volume cannot shrink. If the size is
// unknown, sized also keeps the live instances, resources and parameters.
func sized(want *corev1api.PostgresCluster, live *cnpgv1.Cluster) *corev1api.PostgresCluster {
	if want.Size == "" || live == nil {
		return want
	}
	want = want.DeepCopy()
	if unresolved := want.Storage.Size.IsZero(); unresolved {
		keepLive(want, live)
	}
	has, err := resource.ParseQuantity(live.Spec.StorageConfiguration.Size)
	if err == nil && has.Cmp(want.Storage.Size) > 0 {
		want.Storage.Size = has
	}
	return want
}

// keepLive copies the live fields, except parameters that CloudNativePG has added.
func keepLive(want *corev1api.PostgresCluster, live *cnpgv1.Cluster) {
	want.Instances = new(int32(live.Spec.Instances)) //nolint:gosec // G115: at most 9
	if want.Resources == nil {
		want.Resources = live.Spec.Resources.DeepCopy()
	}
	ours := apply.OwnedFields(ownership.FieldOwner, live)
	parameters := map[string]corev1api.ParameterValue{}
	for name, value := range live.Spec.PostgresConfiguration.Parameters {
		if ours.Has(fieldpath.MakePathOrDie("spec", "postgresql", "parameters", name)) {
			parameters[name] = corev1api.ParameterValue(value)
		}
	}
	for name, value := range want.Parameters {
		parameters[name] = value
	}
	want.Parameters = parameters
}

// SizeOf returns the status of spec.postgres.cluster.size, or nil without a size.
func SizeOf(dojo *corev1api.Dojo, live *cnpgv1.Cluster) *corev1api.SizeStatus {
	own := dojo.Spec.Postgres.Cluster
	if own == nil || own.Size == "" {
		return nil
	}
	want := sized(own, live)
	status := &corev1api.SizeStatus{
		Name: want.Size, Instances: ptr.Deref(want.Instances, 1), Storage: want.Storage.Size.String(),
	}
	if want.Resources != nil {
		status.CPU = quantity(want.Resources.Requests, corev1.ResourceCPU)
		status.Memory = quantity(want.Resources.Requests, corev1.ResourceMemory)
	}
	return status
}

func quantity(list corev1.ResourceList, name corev1.ResourceName) string {
	if q, found := list[name]; found {
		return q.String()
	}
	return ""
}
