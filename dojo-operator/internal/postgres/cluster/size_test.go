// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
)

func sizedDojo(size corev1api.SizeName, storage string, instances *int32) *corev1api.Dojo {
	own := &corev1api.PostgresCluster{Size: size, Instances: instances}
	if storage != "" {
		own.Storage.Size = resource.MustParse(storage)
	}
	return &corev1api.Dojo{Spec: corev1api.DojoSpec{Postgres: &corev1api.Postgres{Cluster: own}}}
}

func liveCluster(storage string) *cnpgv1.Cluster {
	return &cnpgv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: ownership.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
			APIVersion: "postgresql.cnpg.io/v1",
			FieldsV1:   metav1.NewFieldsV1(`{"f:spec":{"f:postgresql":{"f:parameters":{"f:shared_buffers":{}}}}}`),
		}}},
		Spec: cnpgv1.ClusterSpec{
			Instances: 3, StorageConfiguration: cnpgv1.StorageConfiguration{Size: storage},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": resource.MustParse("2Gi")}},
			PostgresConfiguration: cnpgv1.PostgresConfiguration{
				Parameters: map[string]string{"shared_buffers": "512MB", "archive_mode": "on"},
			},
		},
	}
}

func TestASmallerSizeDoesNotShrinkTheVolume(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo *corev1api.Dojo
		live *cnpgv1.Cluster
		want string
	}{
		"a new Cluster":                                    {sizedDojo("Small", "5Gi", nil), nil, "5Gi"},
		"a larger size":                                    {sizedDojo("Large", "100Gi", nil), liveCluster("20Gi"), "100Gi"},
		"a smaller size":                                   {sizedDojo("Small", "5Gi", nil), liveCluster("20Gi"), "20Gi"},
		"the same size":                                    {sizedDojo("Medium", "20480Mi", nil), liveCluster("20Gi"), "20Gi"},
		"a live volume of an invalid size":                 {sizedDojo("Small", "5Gi", nil), liveCluster("much"), "5Gi"},
		"no size, smaller storage in the spec":             {sizedDojo("", "5Gi", nil), liveCluster("20Gi"), "5Gi"},
		"an unresolvable size":                             {sizedDojo("Gone", "", nil), liveCluster("20Gi"), "20Gi"},
		"an unresolvable size, larger storage in the spec": {sizedDojo("Gone", "30Gi", nil), liveCluster("20Gi"), "30Gi"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.dojo.DeepCopy()
			spec := For(c.dojo, c.live, images.Input{}).Object["spec"].(map[string]any)
			if got := spec["storage"].(map[string]any)["size"]; got != c.want {
				t.Errorf("a volume of %v, want %s", got, c.want)
			}
			if diff := cmp.Diff(before, c.dojo); diff != "" {
				t.Error("the Dojo is changed", diff)
			}
			if status := SizeOf(c.dojo, c.live); (status == nil) != (c.dojo.Spec.Postgres.Cluster.Size == "") {
				t.Errorf("status %+v", status)
			} else if status != nil && status.Storage != c.want {
				t.Errorf("the status says %s, want %s", status.Storage, c.want)
			}
		})
	}
}

// The operator does not take over the parameters that CloudNativePG owns.
func TestUnresolvableSizeKeepsTheCluster(t *testing.T) {
	t.Parallel()
	spec := For(sizedDojo("Gone", "", nil), liveCluster("20Gi"), images.Input{}).Object["spec"].(map[string]any)
	want := map[string]any{"instances": int64(3), "storage": map[string]any{"size": "20Gi"},
		"resources":  map[string]any{"requests": map[string]any{"memory": "2Gi"}},
		"postgresql": map[string]any{"parameters": map[string]any{"shared_buffers": "512MB"}}}
	for field, value := range want {
		if diff := cmp.Diff(value, spec[field]); diff != "" {
			t.Error(field, diff)
		}
	}
}

func TestSizeOf(t *testing.T) {
	t.Parallel()
	dojo := sizedDojo("Medium", "20Gi", new(int32(3)))
	dojo.Spec.Postgres.Cluster.Resources = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("2Gi")},
	}
	want := &corev1api.SizeStatus{Name: "Medium", Instances: 3, CPU: "1", Memory: "2Gi", Storage: "20Gi"}
	if diff := cmp.Diff(want, SizeOf(dojo, nil)); diff != "" {
		t.Error(diff)
	}
}
