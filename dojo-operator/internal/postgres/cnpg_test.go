// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/database"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
)

func variants() map[string]*corev1api.Dojo {
	pg := func(change func(*corev1api.PostgresCluster)) *corev1api.Dojo {
		dojo := tokyo(ownPG)
		change(dojo.Spec.Postgres.Cluster)
		return dojo
	}
	backup := func(b corev1api.Backup) *corev1api.Dojo {
		b.Schedule, b.FinalBackup = "0 2 * * *", true
		return pg(func(c *corev1api.PostgresCluster) { c.Backup = &b })
	}
	plugin := func(p corev1api.BackupPluginSpec) *corev1api.Dojo {
		p.Name = "barman-cloud.cloudnative-pg.io"
		return backup(corev1api.Backup{Method: corev1api.BackupPlugin, Plugin: &p})
	}
	limits := &corev1.ResourceRequirements{Limits: corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourceCPU: resource.MustParse("0.5"),
	}}
	snapshots := func(s *corev1api.VolumeSnapshot) *corev1api.Dojo {
		return backup(corev1api.Backup{Method: corev1api.BackupVolumeSnapshot, VolumeSnapshot: s})
	}
	const image = "registry.example/postgres:17.2"
	parameters := map[string]string{"barmanObjectName": "store"}
	return map[string]*corev1api.Dojo{
		"in a Cluster of another owner": tokyo(inPG),
		"deleted with the Dojo":         tokyo(inPG, dropping),
		"smallest":                      tokyo(ownPG),
		"no count of instances":         pg(func(c *corev1api.PostgresCluster) { c.Instances = nil }),
		"version":                       pg(func(c *corev1api.PostgresCluster) { c.Version = "17" }),
		"image":                         pg(func(c *corev1api.PostgresCluster) { c.ImageName = image }),
		"synchronous": pg(func(c *corev1api.PostgresCluster) {
			c.Synchronous = &corev1api.Synchronous{Number: 2}
		}),
		"storage class": pg(func(c *corev1api.PostgresCluster) { c.Storage.StorageClassName = "fast" }),
		"resources":     pg(func(c *corev1api.PostgresCluster) { c.Resources = limits }),
		"empty resources": pg(func(c *corev1api.PostgresCluster) {
			c.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Claims: []corev1.ResourceClaim{}}
		}),
		"Pooler, parameters, WAL volume and extensions": pg(func(c *corev1api.PostgresCluster) {
			c.Pooler = &corev1api.Pooler{Parameters: map[string]corev1api.PoolerParameterValue{"default_pool_size": "50"}}
			c.Parameters = map[string]corev1api.ParameterValue{"max_connections": "200", "auto_explain.log_min_duration": "1s"}
			c.Synchronous = &corev1api.Synchronous{Number: 1}
			c.WALStorage = &corev1api.PostgresStorage{Size: resource.MustParse("2Gi"), StorageClassName: "fast"}
			c.Extensions = []corev1api.ExtensionName{"pg_trgm", "uuid-ossp"}
		}),
		"affinity": pg(func(c *corev1api.PostgresCluster) {
			c.Affinity = &corev1api.PostgresAffinity{
				PodAntiAffinity: corev1api.PodAntiAffinityRequired, TopologyKey: "topology.kubernetes.io/zone",
				NodeSelector: map[string]string{"disk": "ssd"},
				Tolerations: []corev1.Toleration{{Key: "database", Operator: corev1.TolerationOpExists,
					Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](30)}},
			}
		}),
		"no anti-affinity": pg(func(c *corev1api.PostgresCluster) {
			c.Affinity = &corev1api.PostgresAffinity{PodAntiAffinity: corev1api.PodAntiAffinityDisabled}
		}),
		"empty affinity, parameters and extensions": pg(func(c *corev1api.PostgresCluster) {
			c.Parameters, c.Extensions = map[string]corev1api.ParameterValue{}, []corev1api.ExtensionName{}
			c.Affinity = &corev1api.PostgresAffinity{
				NodeSelector: map[string]string{},
				Tolerations:  []corev1.Toleration{},
			}
		}),
		"snapshots":                      snapshots(nil),
		"snapshots of the default class": snapshots(&corev1api.VolumeSnapshot{}),
		"snapshots of a class":           snapshots(&corev1api.VolumeSnapshot{ClassName: "csi"}),
		"plugin":                         plugin(corev1api.BackupPluginSpec{}),
		"plugin with empty parameters":   plugin(corev1api.BackupPluginSpec{Parameters: map[string]string{}}),
		"plugin with parameters":         plugin(corev1api.BackupPluginSpec{Parameters: parameters}),
		"plugin that archives no WAL":    plugin(corev1api.BackupPluginSpec{WALArchiver: ptr.To(false)}),
	}
}

func appliedFor(t *testing.T, dojo *corev1api.Dojo) []*unstructured.Unstructured {
	t.Helper()
	retried := &cnpgv1.DatabaseRole{}
	retried.Annotations = map[string]string{login.RetryAnnotation: "2026-01-02T12:00:00Z", login.ActsAnnotation: "uid"}
	all := []*unstructured.Unstructured{
		login.For(dojo, owner, true, nil), login.For(dojo, owner, true, retried), login.For(dojo, owner, false, nil),
		login.For(dojo, second, false, nil), login.For(dojo, second, true, retried), database.For(dojo, schema.Recorded(nil)),
	}
	if dojo.Spec.Postgres.Cluster == nil {
		return all
	}
	all = append(all, cluster.For(dojo, nil, catalog))
	if pooler.Wanted(dojo) != nil {
		all = append(all, pooler.For(dojo, false), pooler.For(dojo, true))
	}
	if b := dojo.BackupPolicy(); b != nil {
		own := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Labels: ownership.Labels(dojo, ownership.Application)}}
		last := FinalBackup(dojo, State{Cluster: cluster.State{Live: own}}, testConfig)
		if len(last.Apply) != 1 {
			t.Fatalf("writes %v", kinds(last))
		}
		all = append(all, backup.For(dojo, b, dojo.Spec.Suspend), last.Apply[0].Desired)
	}
	return all
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	must(t, cnpgv1.AddToScheme(s))
	return s
}

// The API server would drop an unknown field, and the operator would apply it again and again.
func TestAppliedFieldsExist(t *testing.T) {
	t.Parallel()
	scheme := scheme(t)
	for name, dojo := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range appliedFor(t, dojo) {
				typed, err := scheme.New(o.GroupVersionKind())
				must(t, err)
				if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
					t.Errorf("%s: %v", o.GetKind(), err)
				}
				back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
				must(t, err)
				if lost := lost(o.Object, back); lost != "" {
					t.Errorf("%s: the typed object loses or changes %s", o.GetKind(), lost)
				}
			}
		})
	}
}

// lost returns the path of the first value in want that is missing or different in have, or "".
func lost(want, have any) string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := have.(map[string]any)
		for key, value := range want {
			if at := lost(value, object[key]); at != "" {
				return "/" + key + at
			}
		}
		return ""
	case []any:
		list, _ := have.([]any)
		if len(list) != len(want) {
			return "/"
		}
		for i, value := range want {
			if at := lost(value, list[i]); at != "" {
				return fmt.Sprintf("/%d%s", i, at)
			}
		}
		return ""
	}
	if want != have {
		return fmt.Sprintf(": %v (%T), not %v (%T)", want, want, have, have)
	}
	return ""
}

// CloudNativePG restarts Postgres because of an empty map, and refuses some empty strings.
func TestNoEmptyFieldIsApplied(t *testing.T) {
	t.Parallel()
	for name, dojo := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range appliedFor(t, dojo) {
				if at := empty(o.Object); at != "" {
					t.Errorf("%s: %s is empty", o.GetKind(), at)
				}
			}
		})
	}
}

func empty(v any) string {
	switch v := v.(type) {
	case nil:
		return ":"
	case string:
		if v == "" {
			return ":"
		}
	case map[string]any:
		if len(v) == 0 {
			return ":"
		}
		for key, value := range v {
			if at := empty(value); at != "" {
				return "/" + key + at
			}
		}
	case []any:
		if len(v) == 0 {
			return ":"
		}
		for i, value := range v {
			if at := empty(value); at != "" {
				return fmt.Sprintf("/%d%s", i, at)
			}
		}
	}
	return ""
}

func TestAppliedFields(t *testing.T) {
	t.Parallel()
	type fields = map[string]any
	cases := map[string]struct {
		dojo string
		of   func(*corev1api.Dojo) *unstructured.Unstructured
		want fields
	}{
		"Cluster": {"smallest", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(3), "primaryUpdateMethod": "switchover", "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
		}},
		"Cluster, no number of instances": {"no count of instances", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(1), "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
		}},
		"Cluster, version": {"version", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(3), "primaryUpdateMethod": "switchover", "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
			"imageName": "registry.example/postgres:17",
		}},
		"Cluster, image": {"image", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(3), "primaryUpdateMethod": "switchover", "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
			"imageName": "registry.example/postgres:17.2",
		}},
		"Cluster, synchronous": {"synchronous", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(3), "primaryUpdateMethod": "switchover", "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
			"postgresql": fields{"synchronous": fields{
				"method": "any", "number": int64(2), "dataDurability": "required", "failoverQuorum": true,
			}},
		}},
		"Cluster, resources": {"resources", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(3), "primaryUpdateMethod": "switchover", "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
			"resources": fields{"limits": fields{"memory": "1Gi", "cpu": "500m"}},
		}},
		"Cluster, snapshots of a class": {"snapshots of a class", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(3), "primaryUpdateMethod": "switchover", "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
			"backup": fields{"volumeSnapshot": fields{"snapshotOwnerReference": "none", "className": "csi"}},
		}},
		"Cluster, plugin": {"plugin with parameters", ownCluster, fields{
			"description": "database of Dojo school/tokyo", "instances": int64(3), "primaryUpdateMethod": "switchover", "storage": fields{"size": "1Gi"}, "smartShutdownTimeout": int64(0),
			"plugins": []any{fields{
				"name": "barman-cloud.cloudnative-pg.io", "enabled": true, "isWALArchiver": true,
				"parameters": fields{"barmanObjectName": "store"},
			}},
		}},
		"schedule, snapshots": {"snapshots", scheduleOf, fields{
			"cluster": fields{"name": "tokyo-db"}, "method": "volumeSnapshot",
			"schedule": "0 0 2 * * *", "immediate": true, "backupOwnerReference": "none",
		}},
		"schedule, plugin": {"plugin", scheduleOf, fields{
			"cluster": fields{"name": "tokyo-db"}, "method": "plugin",
			"pluginConfiguration": fields{"name": "barman-cloud.cloudnative-pg.io"},
			"schedule":            "0 0 2 * * *", "immediate": true, "backupOwnerReference": "none",
		}},
		"role": {"in a Cluster of another owner", roleOf, fields{
			"cluster": fields{"name": "pg"}, "name": "dojo_school_tokyo", "login": true,
			"comment":        "owner of the database of Dojo school/tokyo",
			"passwordSecret": fields{"name": "tokyo-db"}, "databaseRoleReclaimPolicy": "retain",
		}},
		"database": {"deleted with the Dojo", databaseOf, fields{
			"cluster": fields{"name": "pg"}, "name": "dojo_school_tokyo", "owner": "dojo_school_tokyo",
			"databaseReclaimPolicy": "delete",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.of(variants()[c.dojo])
			if diff := cmp.Diff(c.want, o.Object["spec"]); diff != "" {
				t.Error(diff)
			}
			if o.GetName() != "tokyo-db" || o.GetNamespace() != "school" || o.GetOwnerReferences() != nil ||
				!ownership.LabelledFor("tokyo", o) {
				t.Errorf("metadata %v", o.Object["metadata"])
			}
		})
	}
}

func ownCluster(dojo *corev1api.Dojo) *unstructured.Unstructured {
	return cluster.For(dojo, nil, catalog)
}

func scheduleOf(dojo *corev1api.Dojo) *unstructured.Unstructured {
	return backup.For(dojo, dojo.BackupPolicy(), dojo.Spec.Suspend)
}

func roleOf(dojo *corev1api.Dojo) *unstructured.Unstructured {
	return login.For(dojo, owner, true, nil)
}

func databaseOf(dojo *corev1api.Dojo) *unstructured.Unstructured {
	return database.For(dojo, schema.Recorded(nil))
}
