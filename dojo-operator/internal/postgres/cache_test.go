// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

func large() metav1.ObjectMeta {
	meta := identity()
	meta.CreationTimestamp, meta.Generation = metav1.NewTime(noon), 2
	meta.Labels = map[string]string{"app": "theirs"}
	meta.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{...}"}
	meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	meta.Finalizers = []string{"theirs"}
	return meta
}

func identity() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "school", Name: "pg", UID: "u", ResourceVersion: "5",
		OwnerReferences: []metav1.OwnerReference{{Kind: "Helm", Name: "pg", Controller: new(true)}},
	}
}

func largeCluster() *cnpgv1.Cluster {
	cluster := &cnpgv1.Cluster{ObjectMeta: large()}
	cluster.Annotations[cnpg.HibernationAnnotation] = "off"
	cluster.Spec = cnpgv1.ClusterSpec{Instances: 3, ImageName: "x", Description: "theirs"}
	cluster.Status = cnpgv1.ClusterStatus{
		Phase: "fine", Image: "postgres:17", CurrentPrimary: "pg-1", TargetPrimary: "pg-1", ReadyInstances: 2,
		InstancesStatus: map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"pg-1", "pg-2"}},
		Conditions:      []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
		Instances:       3, InstanceNames: []string{"pg-1"}, WriteService: "pg-rw",
	}
	return cluster
}

func TestStrip(t *testing.T) {
	t.Parallel()
	small := &cnpgv1.Cluster{ObjectMeta: identity()}
	small.CreationTimestamp = metav1.NewTime(noon)
	small.Annotations = map[string]string{cnpg.HibernationAnnotation: "off"}
	small.Spec.Instances = 3
	small.Status = cnpgv1.ClusterStatus{
		Phase: "fine", Image: "postgres:17", CurrentPrimary: "pg-1", TargetPrimary: "pg-1", ReadyInstances: 2,
		InstancesStatus: map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"pg-1", "pg-2"}},
		Conditions:      []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
	}
	unhibernated, smallUnhibernated := largeCluster(), small.DeepCopy()
	delete(unhibernated.Annotations, cnpg.HibernationAnnotation)
	smallUnhibernated.Annotations = nil
	origin := func(cluster *cnpgv1.Cluster, value string) *cnpgv1.Cluster {
		cluster = cluster.DeepCopy()
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, corev1api.OriginAnnotation, value)
		return cluster
	}
	cases := map[string]struct{ whole, want *cnpgv1.Cluster }{
		"hibernation annotation off": {largeCluster(), small},
		"never hibernated":           {unhibernated, smallUnhibernated},
		"origin of a restore":        {origin(unhibernated, "Backup nightly"), origin(smallUnhibernated, "Backup nightly")},
		"an origin that is too long": {origin(unhibernated, strings.Repeat("a", 1000)), smallUnhibernated},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster.Strip(c.whole)
			if diff := cmp.Diff(c.want, c.whole); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStripBackup(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(noon)
	b := &cnpgv1.Backup{ObjectMeta: large()}
	b.Spec.Cluster.Name, b.Spec.Method = "tokyo-db", "plugin"
	b.Spec.PluginConfiguration = &cnpgv1.BackupPluginConfiguration{Name: "x", Parameters: map[string]string{"a": "b"}}
	b.Status = cnpgv1.BackupStatus{
		Phase: "completed", StartedAt: &at, StoppedAt: &at, ReconciliationStartedAt: &at,
		ReconciliationTerminatedAt: &at, BackupLabelFile: []byte("large"), BackupID: "id",
	}
	want := &cnpgv1.Backup{ObjectMeta: identity()}
	want.CreationTimestamp = at
	want.Spec = *b.Spec.DeepCopy()
	want.Status = cnpgv1.BackupStatus{
		Phase: "completed", StartedAt: &at, StoppedAt: &at, ReconciliationStartedAt: &at, ReconciliationTerminatedAt: &at,
		BackupID: "id",
	}
	hostile := b.DeepCopy()
	backup.Strip(b)
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	// Strip removes values of this length to save memory.
	hostile.Spec.PluginConfiguration.Parameters["b"], hostile.Status.BackupID = strings.Repeat("c", 1<<10), strings.Repeat("d", 1000)
	want.Spec.PluginConfiguration, want.Spec.Method, want.Status.BackupID = nil, "", ""
	backup.Strip(hostile)
	if diff := cmp.Diff(want, hostile); diff != "" {
		t.Error(diff)
	}
}

func TestStripKeepsTheFieldsThatPlansRead(t *testing.T) {
	t.Parallel()
	down := func(cluster *cnpgv1.Cluster) { setReady(cluster, 0) }
	downFor := func(passed time.Duration) func(*cnpgv1.Cluster) {
		return func(cluster *cnpgv1.Cluster) {
			down(cluster)
			cluster.CreationTimestamp = metav1.NewTime(noon.Add(-passed))
			cluster.Status.Conditions = nil
		}
	}
	cases := map[string]struct{ state, without func(*cnpgv1.Cluster) }{
		"instances":         {down, func(cluster *cnpgv1.Cluster) { cluster.Spec.Instances = 0 }},
		"phase":             {down, func(cluster *cnpgv1.Cluster) { cluster.Status.Phase = "" }},
		"primary":           {func(*cnpgv1.Cluster) {}, func(cluster *cnpgv1.Cluster) { cluster.Status.CurrentPrimary = "" }},
		"target primary":    {func(*cnpgv1.Cluster) {}, func(cluster *cnpgv1.Cluster) { cluster.Status.TargetPrimary = "" }},
		"ready instances":   {down, func(cluster *cnpgv1.Cluster) { cluster.Status.ReadyInstances = 1 }},
		"healthy instances": {func(*cnpgv1.Cluster) {}, func(cluster *cnpgv1.Cluster) { cluster.Status.InstancesStatus = nil }},
		"image":             {func(*cnpgv1.Cluster) {}, func(cluster *cnpgv1.Cluster) { cluster.Status.Image = "" }},
		"name":              {down, func(cluster *cnpgv1.Cluster) { cluster.Name = "" }},
		"UID":               {func(*cnpgv1.Cluster) {}, func(cluster *cnpgv1.Cluster) { cluster.UID = "" }},
		"hibernation annotation": {func(cluster *cnpgv1.Cluster) { cluster.Annotations[cnpg.HibernationAnnotation] = "on" },
			func(cluster *cnpgv1.Cluster) { cluster.Annotations = nil }},
		"creation time": {downFor(time.Minute), func(cluster *cnpgv1.Cluster) { cluster.CreationTimestamp = metav1.Time{} }},
		"conditions": {func(cluster *cnpgv1.Cluster) {
			downFor(time.Hour)(cluster)
			cluster.Status.Conditions = []metav1.Condition{{Type: "Ready", LastTransitionTime: metav1.NewTime(noon)}}
		}, func(cluster *cnpgv1.Cluster) { cluster.Status.Conditions = nil }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := tokyo(inPG, waitingFor("instances of the Cluster school/pg", 2*time.Hour))
			w := inSync(t, dojo)
			w.SQL, w.jobs = "other", nil // so that a Job is planned
			of := func(cluster *cnpgv1.Cluster) string { return described(w, dojo, cluster) }
			whole := largeCluster()
			c.state(whole)
			stripped := whole.DeepCopy()
			cluster.Strip(stripped)
			if diff := cmp.Diff(of(whole), of(stripped)); diff != "" {
				t.Error("Strip changes the plan", diff)
			}
			before := of(stripped)
			c.without(stripped)
			// No plan depends on the kept name, because it takes the Cluster's name from the Dojo.
			if name != "name" && of(stripped) == before {
				t.Errorf("the plan does not depend on the field: %s", before)
			}
		})
	}
}

func described(w *world, dojo *corev1api.Dojo, cluster *cnpgv1.Cluster) string {
	w.t.Helper()
	w.Cluster.Live = cluster
	plan := w.plan(dojo).Plan
	var text strings.Builder
	for _, issue := range plan.Issues {
		text.WriteString(issue.Error() + " after " + issue.RequeueAfter.String() + "\n")
	}
	for _, o := range plan.Apply {
		object, err := o.Desired.MarshalJSON()
		must(w.t, err)
		text.Write(append(object, '\n'))
	}
	return text.String()
}
