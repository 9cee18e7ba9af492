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

func memory(request string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(request)}}
}

func liveCluster(storage string) *cnpgv1.Cluster {
	return &cnpgv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: ownership.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
			APIVersion: "postgresql.cnpg.io/v1",
			FieldsV1: metav1.NewFieldsV1(
				`{"f:spec":{"f:postgresql":{"f:parameters":{"f:max_connections":{},"f:shared_buffers":{}}}}}`),
		}}},
		Spec: cnpgv1.ClusterSpec{
			Instances: 3, StorageConfiguration: cnpgv1.StorageConfiguration{Size: storage},
			Resources: memory("2Gi"),
			PostgresConfiguration: cnpgv1.PostgresConfiguration{
				Parameters: map[string]string{"shared_buffers": "512MB", "max_connections": "200", "archive_mode": "on"},
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
		"a new Cluster":                                {sizedDojo("Small", "5Gi", nil), nil, "5Gi"},
		"a larger size":                                {sizedDojo("Large", "100Gi", nil), liveCluster("20Gi"), "100Gi"},
		"a smaller size":                               {sizedDojo("Small", "5Gi", nil), liveCluster("20Gi"), "20Gi"},
		"the same size":                                {sizedDojo("Medium", "20480Mi", nil), liveCluster("20Gi"), "20Gi"},
		"a live volume of an invalid size":             {sizedDojo("Small", "5Gi", nil), liveCluster("much"), "5Gi"},
		"no size, smaller storage in the spec":         {sizedDojo("", "5Gi", nil), liveCluster("20Gi"), "5Gi"},
		"an unknown size":                              {sizedDojo("Gone", "", nil), liveCluster("20Gi"), "20Gi"},
		"an unknown size, smaller storage in the spec": {sizedDojo("Gone", "5Gi", nil), liveCluster("20Gi"), "20Gi"},
		"an unknown size, larger storage in the spec":  {sizedDojo("Gone", "30Gi", nil), liveCluster("20Gi"), "30Gi"},
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
			if status := SizeOf(c.dojo, c.live, false); (status == nil) != (c.dojo.Spec.Postgres.Cluster.Size == "") {
				t.Errorf("status %+v", status)
			} else if status != nil && status.Storage != c.want {
				t.Errorf("the status says %s, want %s", status.Storage, c.want)
			}
		})
	}
}

// While the size is unknown, the Cluster keeps the values that the spec does not set. The operator
// does not take over the parameters that CloudNativePG owns.
func TestUnknownSizeKeepsTheCluster(t *testing.T) {
	t.Parallel()
	type fields = map[string]any
	type result struct {
		Spec   fields
		Status *corev1api.SizeStatus
	}
	ours := fields{"shared_buffers": "512MB", "max_connections": "200"}
	kept := func(instances int64, storage, memory string, parameters fields) result {
		return result{
			fields{
				"instances": instances, "storage": fields{"size": storage}, "primaryUpdateMethod": "switchover",
				"resources": fields{"requests": fields{"memory": memory}}, "postgresql": fields{"parameters": parameters},
			},
			&corev1api.SizeStatus{Name: "Gone", Instances: int32(instances), Memory: memory, Storage: storage},
		}
	}
	set := func(change func(*corev1api.PostgresCluster)) *corev1api.Dojo {
		dojo := sizedDojo("Gone", "30Gi", nil)
		change(dojo.Spec.Postgres.Cluster)
		return dojo
	}
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want result
	}{
		"the spec sets no field":              {sizedDojo("Gone", "", nil), kept(3, "20Gi", "2Gi", ours)},
		"the spec sets storage":               {sizedDojo("Gone", "30Gi", nil), kept(3, "30Gi", "2Gi", ours)},
		"the spec sets smaller storage":       {sizedDojo("Gone", "5Gi", nil), kept(3, "20Gi", "2Gi", ours)},
		"the spec sets instances":             {sizedDojo("Gone", "", new(int32(2))), kept(2, "20Gi", "2Gi", ours)},
		"the spec sets storage and instances": {sizedDojo("Gone", "30Gi", new(int32(5))), kept(5, "30Gi", "2Gi", ours)},
		"the spec sets resources": {set(func(own *corev1api.PostgresCluster) { own.Resources = new(memory("1Gi")) }),
			kept(3, "30Gi", "1Gi", ours)},
		"the spec sets a parameter": {set(func(own *corev1api.PostgresCluster) {
			own.Parameters = map[string]corev1api.ParameterValue{"max_connections": "77", "work_mem": "9MB"}
		}), kept(3, "30Gi", "2Gi", fields{"shared_buffers": "512MB", "max_connections": "77", "work_mem": "9MB"})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, live := c.dojo.DeepCopy(), liveCluster("20Gi")
			spec := For(KeepLive(c.dojo, live), live, images.Input{}).Object["spec"].(fields)
			delete(spec, "description")
			delete(spec, "smartShutdownTimeout")
			if diff := cmp.Diff(c.want, result{spec, SizeOf(c.dojo, live, true)}); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, c.dojo); diff != "" {
				t.Error("the Dojo is changed", diff)
			}
			if diff := cmp.Diff(liveCluster("20Gi"), live); diff != "" {
				t.Error("the cached Cluster is changed", diff)
			}
		})
	}
}

func TestSizeOf(t *testing.T) {
	t.Parallel()
	dojo := sizedDojo("Medium", "20Gi", new(int32(3)))
	dojo.Spec.Postgres.Cluster.Resources = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("2Gi")},
	}
	want := &corev1api.SizeStatus{Name: "Medium", Instances: 3, CPU: "1", Memory: "2Gi", Storage: "20Gi"}
	if diff := cmp.Diff(want, SizeOf(dojo, nil, false)); diff != "" {
		t.Error(diff)
	}
}

// A restore needs the last known values of a lost Cluster.
func TestSizeOfALostCluster(t *testing.T) {
	t.Parallel()
	const uid = "uid"
	medium := corev1api.SizeStatus{Name: "Medium", Instances: 3, Memory: "2Gi", Storage: "20Gi"}
	small := &corev1api.SizeStatus{Name: "Small", Instances: 1, Storage: "5Gi"}
	larger := &corev1api.SizeStatus{Name: "Small", Instances: 1, Storage: "20Gi"}
	cases := map[string]struct {
		size, storage string
		unknown       bool
		status        *corev1api.DatabaseStatus
		want          *corev1api.SizeStatus
	}{
		"no Cluster yet":                             {"Small", "5Gi", false, &corev1api.DatabaseStatus{Size: &medium}, small},
		"no Cluster yet, unknown size":               {"Gone", "", true, nil, nil},
		"no Cluster yet, size now unknown":           {"Gone", "5Gi", true, &corev1api.DatabaseStatus{Size: &medium}, nil},
		"lost, with a larger volume":                 {"Small", "5Gi", false, &corev1api.DatabaseStatus{ClusterUID: uid, Size: &medium}, larger},
		"lost, with a smaller volume":                {"Small", "20Gi", false, &corev1api.DatabaseStatus{ClusterUID: uid, Size: small}, larger},
		"lost, size never reported":                  {"Small", "5Gi", false, &corev1api.DatabaseStatus{ClusterUID: uid}, small},
		"lost, unknown size":                         {"Gone", "5Gi", true, &corev1api.DatabaseStatus{ClusterUID: uid, Size: &medium}, &medium},
		"lost, unknown size that was never reported": {"Gone", "5Gi", true, &corev1api.DatabaseStatus{ClusterUID: uid}, nil},
	}
	for name, c := range cases {
		dojo := sizedDojo(corev1api.SizeName(c.size), c.storage, nil)
		dojo.Status.Database = c.status
		if diff := cmp.Diff(c.want, SizeOf(dojo, nil, c.unknown)); diff != "" {
			t.Error(name, diff)
		}
	}
}
