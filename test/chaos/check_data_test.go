// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

type rowsOf struct {
	rows       []string
	restorable map[types.UID][]string
	broken     bool
}

func (r *rowsOf) Rows(types.UID, string) []string { return r.rows }
func (r *rowsOf) Restorable(backup types.UID, _ string) []string {
	return r.restorable[backup]
}
func (r *rowsOf) Starts(*unstructured.Unstructured) bool { return !r.broken }

const clusterUID, backupUID = "66666666-cluster", "77777777-backup"

// dataWithRow returns a Cluster of Postgres 15 and a completed Backup with the same single row.
func dataWithRow() (*dataWorld, *rowsOf) {
	keeper := &rowsOf{rows: []string{"row-1"}, restorable: map[types.UID][]string{backupUID: {"row-1"}}}
	d := &corev1api.Dojo{ObjectMeta: objectMeta("data-0", dojoUID)}
	d.Spec.Postgres = &corev1api.Postgres{ReclaimPolicy: corev1api.ReclaimRetain, Cluster: &corev1api.PostgresCluster{
		Version: "15", Backup: &corev1api.Backup{FinalBackup: true}}}
	d.Status = corev1api.DojoStatus{ObservedGeneration: 1, Conditions: conds("Reconciled", "Available", "Ready"),
		Database: &corev1api.DatabaseStatus{LastBackup: &corev1api.CompletedBackup{Name: "data-0-db-final-1"}}}
	cluster := postgres("Cluster", "data-0-db")
	cluster.SetUID(clusterUID)
	cluster.Object["status"] = map[string]any{"pgDataImageInfo": map[string]any{"majorVersion": int64(15)}}
	backup := postgres("Backup", "data-0-db-final-1")
	backup.SetUID(backupUID)
	backup.Object["status"] = map[string]any{"phase": "completed"}
	w := &dataWorld{postgres: keeper, deletedClusters: map[types.UID]bool{},
		rows: []acknowledged{{dojoUID, "data-0", clusterUID, "dojo_data_0", "row-1"}}}
	w.dojos, w.custom = []*corev1api.Dojo{d}, []*unstructured.Unstructured{cluster, backup}
	w.gone = map[types.UID]client.Object{}
	return w, keeper
}

func deleteWithData(w *dataWorld) {
	d := w.dojos[0]
	d.DeletionTimestamp, d.Spec.Postgres.ReclaimPolicy = now(), corev1api.ReclaimDelete
	w.gone[dojoUID], w.dojos, w.custom = d, nil, w.custom[1:]
}

func stuck(w *dataWorld, reason string) { w.dojos[0].Status.Conditions = conds(reason, "Degraded") }

func TestDataChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*dataWorld, *rowsOf)
		says   string // empty if there is no violation
	}{
		"the row is in its database":                           {func(*dataWorld, *rowsOf) {}, ""},
		"a Dojo is deleted with its data after a final backup": {func(w *dataWorld, _ *rowsOf) { deleteWithData(w) }, ""},
		"a Dojo is deleted with its data without the final backup": {func(w *dataWorld, k *rowsOf) { deleteWithData(w); k.restorable = nil },
			"dropped without the final backup"},
		"a deleted Dojo asked for no final backup, but a former Dojo of the same name did": {func(w *dataWorld, k *rowsOf) {
			deleteWithData(w)
			earlier := w.gone[dojoUID].(*corev1api.Dojo).DeepCopy()
			earlier.UID, earlier.CreationTimestamp = "earlier", metav1.NewTime(earlier.CreationTimestamp.Add(-time.Minute))
			w.gone["earlier"] = earlier
			w.gone[dojoUID].(*corev1api.Dojo).Spec.Postgres.Cluster.Backup.FinalBackup = false
			k.restorable = nil
		}, ""},
		"a Dojo is deleted with its data although the final Backup has failed": {func(w *dataWorld, _ *rowsOf) {
			deleteWithData(w)
			w.custom[0].Object["status"] = map[string]any{"phase": "failed"}
		}, "dropped without the final backup"},
		"a retained database is dropped": {func(w *dataWorld, _ *rowsOf) {
			deleteWithData(w)
			w.gone[dojoUID].(*corev1api.Dojo).Spec.Postgres.ReclaimPolicy = corev1api.ReclaimRetain
		}, "nobody has asked for it"},
		"a database is dropped from its Cluster": {func(_ *dataWorld, k *rowsOf) { k.rows = nil },
			"nobody has asked for it"},
		"a user has deleted the Cluster": {func(w *dataWorld, _ *rowsOf) {
			w.deletedClusters[clusterUID], w.custom = true, w.custom[1:]
			stuck(w, corev1api.ReasonDatabaseLost)
		}, ""},
		"a Dojo is Ready without its Cluster": {func(w *dataWorld, _ *rowsOf) {
			w.deletedClusters[clusterUID], w.custom = true, w.custom[1:]
		},
			"DatabaseLost"},
		"an upgrade has failed, and a Backup has the row": {func(w *dataWorld, k *rowsOf) {
			k.broken = true
			stuck(w, corev1api.ReasonUpgradeFailed)
		}, ""},
		"an upgrade has failed, and no Backup has the row": {func(w *dataWorld, k *rowsOf) {
			k.broken, k.restorable = true, nil
			stuck(w, corev1api.ReasonUpgradeFailed)
		}, "do not have the row"},
		"an upgrade without a backup has failed": {func(w *dataWorld, k *rowsOf) {
			k.broken, k.restorable = true, nil
			stuck(w, corev1api.ReasonUpgradeFailed)
			w.dojos[0].Annotations = map[string]string{corev1api.UpgradeWithoutBackupAnnotation: "17"}
		}, ""},
		"a Dojo is Ready although its upgrade Job has failed": {func(w *dataWorld, _ *rowsOf) {
			w.jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "data-0-db-1-major-upgrade"},
				Status: batchv1.JobStatus{Failed: 1}}}
		}, "UpgradeFailed"},
		"a Dojo is Ready although its spec has a lower version than its Cluster": {func(w *dataWorld, _ *rowsOf) {
			w.dojos[0].Spec.Postgres.Cluster.Version = "14"
		}, "VersionTooLow"},
		"the operator refuses an upgrade of a Dojo without backups": {func(w *dataWorld, _ *rowsOf) {
			w.dojos[0].Spec.Postgres.Cluster.Version, w.dojos[0].Spec.Postgres.Cluster.Backup = "17", nil
			stuck(w, corev1api.ReasonUpgradeNeedsBackup)
		}, ""},
		"the database refuses rows": {func(w *dataWorld, _ *rowsOf) { w.refused = map[string]string{"data-0": "42501"} }, "42501"},
		"a deletion waits for a Backup that has failed": {func(w *dataWorld, _ *rowsOf) {
			w.dojos[0].DeletionTimestamp, w.dojos[0].Spec.Postgres.ReclaimPolicy = now(), corev1api.ReclaimDelete
			w.custom[1].Object["status"] = map[string]any{"phase": "failed"}
			stuck(w, corev1api.ReasonFinalBackupFailed)
		}, ""},
		"a deletion waits for a Backup of a Cluster that does not start": {func(w *dataWorld, k *rowsOf) {
			w.dojos[0].DeletionTimestamp, w.dojos[0].Spec.Postgres.ReclaimPolicy = now(), corev1api.ReclaimDelete
			w.custom[1].Object["status"] = map[string]any{"phase": "pending"}
			k.broken = true
			stuck(w, corev1api.ReasonDeletionStalled)
		}, ""},
		"a deletion waits for a Backup of a Cluster that starts": {func(w *dataWorld, _ *rowsOf) {
			w.dojos[0].DeletionTimestamp, w.dojos[0].Spec.Postgres.ReclaimPolicy = now(), corev1api.ReclaimDelete
			w.custom[1].Object["status"] = map[string]any{"phase": "pending"}
			stuck(w, corev1api.ReasonDeletionStalled)
		}, "its deletion does not end"},
		"a deletion does not end": {func(w *dataWorld, _ *rowsOf) { w.dojos[0].DeletionTimestamp = now() },
			"its deletion does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, keeper := dataWithRow()
			c.change(w, keeper)
			wrong := w.check()
			if c.says == "" && len(wrong) > 0 || c.says != "" && !slices.ContainsFunc(wrong, func(v violation) bool {
				return strings.Contains(v.what, c.says)
			}) {
				t.Errorf("want a violation with %q, got %v", c.says, wrong)
			}
		})
	}
}
