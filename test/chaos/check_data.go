// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// rowKeeper is the simulated CloudNativePG.
type rowKeeper interface {
	Rows(cluster types.UID, database string) []string
	Restorable(backup types.UID, database string) []string
	Starts(cluster *unstructured.Unstructured) bool
}

type dataWorld struct {
	world
	postgres        rowKeeper
	jobs            []*batchv1.Job
	rows            []acknowledged
	deletedClusters map[types.UID]bool
	refused         map[string]string
	offered         map[string]string // maps a major version of Postgres to its image
}

// gatherData also lets each application commit a row, to see if the database works.
func (r *run) gatherData(ctx context.Context) (*dataWorld, error) {
	w := &dataWorld{postgres: r.Postgres}
	var dojos corev1api.DojoList
	var jobs batchv1.JobList
	failed := errors.Join(
		r.Admin.List(ctx, &dojos, client.InNamespace(archive)), r.Admin.List(ctx, &jobs, client.InNamespace(archive)))
	w.dojos, w.jobs = pointers(dojos.Items), pointers(jobs.Items)
	for _, kind := range []string{"Cluster", "DatabaseRole", "Database", "Backup"} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(postgresObject(kind+"List", "").GroupVersionKind())
		failed = errors.Join(failed, r.Admin.List(ctx, &list, client.InNamespace(archive)))
		w.custom = append(w.custom, pointers(list.Items)...)
	}
	for slot := range dataSlots {
		_, err := r.writeRow(ctx, dataName(slot))
		failed = errors.Join(failed, err)
	}
	w.offered = r.minors.current()
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	w.rows, w.deletedClusters = slices.Clone(r.ledger.rows), maps.Clone(r.ledger.deletedClusters)
	w.refused = maps.Clone(r.ledger.refused)
	return w, failed
}

func (w *dataWorld) check() (wrong violations) {
	if w == nil {
		return nil
	}
	for _, d := range w.dojos {
		expected := w.expect(d)
		wrong = append(wrong, checkStatus(d, expected)...)
		if len(expected.reasons) == 0 && d.DeletionTimestamp == nil && w.refused[d.Name] != "" {
			wrong.add("the application of a Dojo that is Ready writes", id(d), "%s", w.refused[d.Name])
		}
	}
	wrong = append(wrong, w.checkMinors()...)
	for _, row := range w.rows {
		if why := w.missing(row); why != "" {
			wrong.add("no acknowledged row is lost", row.name, "%s of the Cluster %s: %s", row.text, row.cluster, why)
		}
	}
	return wrong
}

func (w *dataWorld) named(kind, name string) *unstructured.Unstructured {
	for _, o := range w.custom {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

func (w *dataWorld) expect(d *corev1api.Dojo) expectation {
	cluster := w.named("Cluster", d.Name+"-db")
	own := d.Spec.Postgres.Cluster
	switch {
	case d.DeletionTimestamp != nil && w.finalBackupBlocks(d, cluster): // Postgres must run to make the final backup
		return expectation{[]string{corev1api.ReasonFinalBackupFailed, corev1api.ReasonDeletionStalled}}
	case d.DeletionTimestamp != nil:
		return isReady
	// The condition names only one reason: ChildRefused or an error of the Cluster.
	case w.databaseElsewhere(d) && cluster != nil && own != nil:
		return expectation{append(w.expectVersion(d, cluster).reasons, corev1api.ReasonChildRefused)}
	case w.databaseElsewhere(d):
		return expectation{[]string{corev1api.ReasonChildRefused}}
	case own == nil:
		return isReady
	case cluster == nil:
		return expectation{[]string{corev1api.ReasonDatabaseLost}}
	}
	return w.expectVersion(d, cluster)
}

func (w *dataWorld) finalBackupBlocks(d *corev1api.Dojo, cluster *unstructured.Unstructured) bool {
	policy := d.BackupPolicy()
	if policy == nil || !policy.FinalBackup || d.Spec.Postgres.ReclaimPolicy != corev1api.ReclaimDelete || cluster == nil {
		return false
	}
	return !w.postgres.Starts(cluster) || w.hasFailed("Backup", d.Name+"-db-final-")
}

func (w *dataWorld) hasFailed(kind, prefix string) bool {
	return slices.ContainsFunc(w.custom, func(o *unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		return o.GetKind() == kind && strings.HasPrefix(o.GetName(), prefix) && phase == "failed"
	})
}

func (w *dataWorld) expectVersion(d *corev1api.Dojo, cluster *unstructured.Unstructured) expectation {
	data, _, _ := unstructured.NestedMap(cluster.Object, "status", "pgDataImageInfo")
	has, _ := data["majorVersion"].(int64)
	wants, _ := strconv.ParseInt(d.Spec.Postgres.Cluster.Version, 10, 64)
	failedJob := slices.ContainsFunc(w.jobs, func(j *batchv1.Job) bool {
		return strings.HasPrefix(j.Name, cluster.GetName()+"-") && strings.HasSuffix(j.Name, "-major-upgrade") &&
			j.Status.Failed > 0
	})
	switch {
	case failedJob || !w.postgres.Starts(cluster):
		return expectation{[]string{corev1api.ReasonUpgradeFailed, corev1api.ReasonUpgrading, corev1api.ReasonVersionTooLow,
			corev1api.ReasonClusterNotReady, corev1api.ReasonWaitingForCluster}}
	case wants < has:
		return expectation{[]string{corev1api.ReasonVersionTooLow}}
	case wants == has || d.Annotations[corev1api.UpgradeWithoutBackupAnnotation] == d.Spec.Postgres.Cluster.Version:
		return isReady
	case d.BackupPolicy() == nil:
		return expectation{[]string{corev1api.ReasonUpgradeNeedsBackup}}
	case w.hasFailed("Backup", d.Name+"-before-"):
		return expectation{[]string{corev1api.ReasonUpgradeBackupFailed}}
	}
	return isReady
}

// missing returns the reason why a committed row is lost, or "". These rows are not lost:
//   - the database has the row, and either Postgres starts or a Backup in the Dojo's status has it;
//   - a user has deleted the Cluster;
//   - a user has deleted the Dojo with the reclaimPolicy Delete, and a final Backup has the row if
//     the Dojo requested a final backup and the Cluster is gone;
//   - the database has the row, but Postgres does not start, and the Dojo is gone, requests no
//     backups or has the annotation for an upgrade without a backup.
func (w *dataWorld) missing(row acknowledged) string {
	cluster := w.byUID(row.cluster)
	there := cluster != nil && slices.Contains(w.postgres.Rows(row.cluster, row.database), row.text)
	if there && w.postgres.Starts(cluster) || w.deletedClusters[row.cluster] {
		return ""
	}
	d := find(w.dojos, row.name)
	if deleted, final := w.deletedWithData(row); deleted {
		if cluster == nil && final && !w.inBackup(row, row.name+"-db-final-") {
			return "the database was dropped without the final backup that was asked for"
		}
		return ""
	}
	switch {
	case !there:
		return "the database was dropped, and nobody has asked for it"
	case d == nil || d.BackupPolicy() == nil || d.Annotations[corev1api.UpgradeWithoutBackupAnnotation] != "":
		return "" // a user asked for an upgrade without a backup, and the upgrade failed
	case !w.inBackup(row, namedBackups(d)...):
		return fmt.Sprintf("Postgres does not start, and the Backups %v do not have the row", namedBackups(d))
	}
	return ""
}

func (w *dataWorld) byUID(uid types.UID) *unstructured.Unstructured {
	for _, o := range w.custom {
		if o.GetUID() == uid {
			return o
		}
	}
	return nil
}

// deletedWithData reports whether a Dojo with the row was deleted with the reclaimPolicy Delete,
// and whether that Dojo asked for a final backup.
func (w *dataWorld) deletedWithData(row acknowledged) (deleted, final bool) {
	var former []*corev1api.Dojo
	leaving := slices.DeleteFunc(objects(w.dojos), func(o client.Object) bool { return o.GetDeletionTimestamp() == nil })
	for _, o := range append(slices.Collect(maps.Values(w.gone)), leaving...) {
		if d, ok := o.(*corev1api.Dojo); ok && d.Name == row.name {
			former = append(former, d)
		}
	}
	slices.SortStableFunc(former, func(a, b *corev1api.Dojo) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	since := slices.IndexFunc(former, func(d *corev1api.Dojo) bool { return d.UID == row.dojo })
	if since < 0 {
		return false, false
	}
	for _, d := range former[since:] {
		if d.Spec.Postgres.ReclaimPolicy == corev1api.ReclaimDelete {
			return true, d.BackupPolicy() != nil && d.BackupPolicy().FinalBackup && d.Spec.Postgres.Cluster != nil
		}
	}
	return false, false
}

func namedBackups(d *corev1api.Dojo) (names []string) {
	if db := d.Status.Database; db != nil && db.Upgrade != nil && db.Upgrade.Backup != "" {
		names = append(names, db.Upgrade.Backup)
	}
	if db := d.Status.Database; db != nil && db.LastBackup != nil {
		names = append(names, db.LastBackup.Name)
	}
	return names
}

func (w *dataWorld) inBackup(row acknowledged, prefixes ...string) bool {
	return slices.ContainsFunc(w.custom, func(o *unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		named := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(o.GetName(), p) })
		return o.GetKind() == "Backup" && named && phase == "completed" &&
			slices.Contains(w.postgres.Restorable(o.GetUID(), row.database), row.text)
	})
}

// giveUpFinalBackups disables final backups, as the message of a Dojo advises if a final backup
// blocks its deletion.
func (r *run) giveUpFinalBackups(ctx context.Context) error {
	var dojos corev1api.DojoList
	if err := r.Admin.List(ctx, &dojos, client.InNamespace(archive)); err != nil {
		return err
	}
	for i := range dojos.Items {
		d := &dojos.Items[i]
		if d.BackupPolicy() == nil {
			continue
		}
		patch := []byte(`{"spec":{"postgres":{"cluster":{"backup":{"finalBackup":false}}}}}`)
		err := r.Admin.Patch(ctx, d, client.RawPatch(types.MergePatchType, patch))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
