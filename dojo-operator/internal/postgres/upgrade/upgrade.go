// SPDX-License-Identifier: Apache-2.0

// Package upgrade upgrades a Dojo's own Cluster to a higher major version of Postgres.
// CloudNativePG runs pg_upgrade --link (docs/src/postgres_upgrades.md) as soon as a Cluster names
// an image of a higher major version, so the Cluster keeps its image until the application has
// stopped ([change]). After pg_upgrade has linked files, only a restore leads back to the former
// version ([committed]).
package upgrade

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// fromAnnotation on the Cluster has the former major version until the new version is verified.
const fromAnnotation = "core.jutsu.com/upgrading-from"

const backupAnnotation = "core.jutsu.com/upgrade-backup"

// State has the observed objects of an upgrade. An absent object is nil.
type State struct {
	Images images.Input
	// Backup is of the former version. After is of the new version. Job and Pods run pg_upgrade.
	Backup, After *cnpgv1.Backup
	Job           *batchv1.Job
	Pods          []corev1.Pod
}

// Observe reads the objects of an upgrade that is due or has begun.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, in images.Input,
) (s State, err error) {
	s.Images = in
	v := versionsOf(dojo, cluster, s)
	if !v.due() && !v.begun() {
		return s, nil
	}
	backups := map[string]**cnpgv1.Backup{
		backupNameBefore(dojo, cluster, v):        &s.Backup,
		backupName(dojo, cluster, afterSuffix, v): &s.After,
	}
	delete(backups, "") // a name is "" without a backup, or before the status has the request
	for name, backup := range backups {
		name := types.NamespacedName{Namespace: dojo.Namespace, Name: name}
		if *backup, err = apply.Get(ctx, r, cnpg.BackupKind.Kind, name, &cnpgv1.Backup{}); err != nil {
			return s, err
		}
	}
	if !v.begun() {
		return s, nil
	}
	err = s.observeJob(ctx, r, cluster)
	return s, err
}

// versions has major versions. An unknown version is 0.
type versions struct {
	// The versions of the spec, of the Cluster's image and of the Cluster's data.
	wanted, image, data int
	// from is the version of the data before the upgrade.
	from int

	reachable, committed bool
}

func versionsOf(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State) (v versions) {
	if dojo.Spec.Postgres == nil || dojo.Spec.Postgres.Cluster == nil || !ownership.Holds(dojo, cluster) {
		return v
	}
	v.wanted, v.image, v.data = images.Majors(dojo, cluster, s.Images)
	v.from, _ = strconv.Atoi(cluster.Annotations[fromAnnotation])
	v.reachable, v.committed = cnpg.Up(cluster), committed(s.Job, s.Pods)
	return v
}

func (v versions) begun() bool { return v.from > 0 }

// Verifies reports whether the upgrade of the Cluster has begun and is not verified yet.
func Verifies(cluster *cnpgv1.Cluster) bool {
	return cluster != nil && cluster.Annotations[fromAnnotation] != ""
}

func (v versions) due() bool { return !v.begun() && v.data > 0 && v.wanted > v.data }

// returning reports whether the spec has the former version again, before the upgrade is committed.
func (v versions) returning() bool {
	return v.begun() && v.data == v.from && v.wanted == v.from && !v.committed
}

// resuming reports whether the spec has the higher version again after an undone upgrade, and
// Postgres is down. pg_upgrade may have changed the data, so that the former version cannot start.
func (v versions) resuming() bool {
	return v.begun() && v.data == v.from && v.image == v.from && v.wanted > v.from && !v.reachable
}

func (v versions) target() int {
	if v.begun() && !v.returning() && !v.resuming() {
		return max(v.image, v.data)
	}
	return v.wanted
}

const beforeSuffix, afterSuffix = "before", "after"

// requestedAt ignores the status of an upgrade that has been verified or reverted.
func requestedAt(dojo *corev1api.Dojo, v versions) *metav1.Time {
	db := dojo.Status.Database
	if db == nil || db.Upgrade == nil || db.Upgrade.Step == corev1api.UpgradeVerifying && !v.begun() {
		return nil
	}
	return db.Upgrade.RequestedAt
}

// backupName names a Backup for the requested upgrade; "" until the status records the request.
func backupName(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, suffix string, v versions) string {
	requested := requestedAt(dojo, v)
	if requested == nil {
		return ""
	}
	id := fmt.Sprint(cluster.UID, requested.Unix(), v.target())
	return cnpg.BackupName(dojo, suffix+"-"+cnpg.ShortHash(id))
}

func backupNameBefore(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, v versions) string {
	if v.begun() {
		return cluster.Annotations[backupAnnotation]
	}
	return backupName(dojo, cluster, beforeSuffix, v)
}

// Next returns the current step of an upgrade, or "". stopped reports whether no pod uses Postgres.
func Next(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, stopped bool) corev1api.UpgradeStep {
	switch v := versionsOf(dojo, cluster, s); {
	case v.due() && !v.reachable:
		return corev1api.UpgradeWaiting
	case v.due() && !backedUp(dojo, s, v) && !stopped && stopsFirst(dojo, s):
		return corev1api.UpgradeStopping
	case v.due() && !backedUp(dojo, s, v):
		return corev1api.UpgradeBackingUp
	case v.due() && !stopped:
		return corev1api.UpgradeStopping
	case v.due():
		return corev1api.UpgradeUpgrading
	case !v.begun():
		return ""
	case v.data != v.target() || !v.reachable:
		return corev1api.UpgradeUpgrading
	}
	return corev1api.UpgradeVerifying
}

// RequiresStop reports whether the application must not run in a step.
func RequiresStop(dojo *corev1api.Dojo, s State, step corev1api.UpgradeStep) bool {
	switch step {
	case corev1api.UpgradeStopping, corev1api.UpgradeUpgrading, corev1api.UpgradeVerifying:
		return true
	case corev1api.UpgradeBackingUp:
		return stopsFirst(dojo, s)
	case corev1api.UpgradeWaiting:
	}
	return false
}

// stopsFirst reports whether the application stops before the backup. Without an archive of the
// WAL, a restore would lack writes after the backup. After a failed backup, the application runs
// until a retry.
func stopsFirst(dojo *corev1api.Dojo, s State) bool {
	return dojo.BackupPolicy() != nil && !archives(dojo) && (s.Backup == nil || !cnpg.BackupFailed(s.Backup))
}

func archives(dojo *corev1api.Dojo) bool {
	policy := dojo.BackupPolicy()
	return policy != nil && policy.Method == corev1api.BackupPlugin && policy.Plugin != nil &&
		ptr.Deref(policy.Plugin.WALArchiver, true)
}

func backedUp(dojo *corev1api.Dojo, s State, v versions) bool {
	if dojo.Annotations[corev1api.UpgradeWithoutBackupAnnotation] == strconv.Itoa(v.wanted) {
		return true
	}
	return dojo.BackupPolicy() != nil && s.Backup != nil && s.Backup.Status.Phase == cnpgv1.BackupPhaseCompleted
}

// change keeps the Cluster's image until the upgrade may begin, and records the former version.
func change(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, step corev1api.UpgradeStep) (all cnpg.Change) {
	v := versionsOf(dojo, cluster, s)
	starts := v.due() && step == corev1api.UpgradeUpgrading
	// While the Job runs, the image must not change: at the end, CloudNativePG records the image's
	// version as the version of the data.
	running := v.begun() && v.data == v.from && v.image > v.from && !v.returning()
	if v.due() && !starts || running || v.begun() && v.wanted > v.data && !v.resuming() {
		all.Spec = currentImage(cluster)
	}
	from := v.from
	if starts {
		from = v.data
	}
	if from > 0 {
		all.Annotations = map[string]string{fromAnnotation: strconv.Itoa(from)}
		if name := takenBefore(cluster, s); name != "" {
			all.Annotations[backupAnnotation] = name
		}
	}
	return all
}

// currentImage keeps the live image and the live plugins. The plugins name the archive, which may
// change only together with the image: the new version must not overwrite the WAL of the former
// version.
func currentImage(live *cnpgv1.Cluster) map[string]any {
	spec := map[string]any{"imageName": nil, "imageCatalogRef": nil, "plugins": nil}
	if ref := live.Spec.ImageCatalogRef; ref != nil {
		spec["imageCatalogRef"] = map[string]any{
			"apiGroup": ptr.Deref(ref.APIGroup, ""), "kind": ref.Kind, "name": ref.Name, "major": int64(ref.Major),
		}
	} else if live.Spec.ImageName != "" {
		spec["imageName"] = live.Spec.ImageName
	}
	if len(live.Spec.Plugins) > 0 {
		spec["plugins"] = apply.As[[]any](live.Spec.Plugins)
	}
	return spec
}

// takenBefore reads the annotation first, because barman-cloud deletes a Backup object that the
// present archive lacks (plugin-barman-cloud, retention.go, deleteBackupsNotInCatalog).
func takenBefore(cluster *cnpgv1.Cluster, s State) string {
	switch name := cluster.Annotations[backupAnnotation]; {
	case name != "":
		return name
	case s.Backup != nil && s.Backup.Status.Phase == cnpgv1.BackupPhaseCompleted:
		return s.Backup.Name
	}
	return ""
}

// Verification returns an ID of the query that verifies the upgrade, and the major version that the
// query expects.
func Verification(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State) (id string, major int) {
	v := versionsOf(dojo, cluster, s)
	return fmt.Sprint(cluster.UID, " from ", v.from, " to ", v.data), v.data
}

func takeBefore(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, in Input) (step cnpg.Step) {
	v := versionsOf(dojo, cluster, s)
	name, policy := backupName(dojo, cluster, beforeSuffix, v), dojo.BackupPolicy()
	var issue *conditions.Issue
	switch {
	case policy == nil:
		issue = conditions.Degraded(corev1api.ReasonUpgradeNeedsBackup,
			"The upgrade of the Cluster %[1]s/%[2]s from Postgres %[3]d to %[4]d has not begun: without "+
				"spec.postgres.cluster.backup you could not go back. Set the version to %[3]d again, configure backups, then "+
				"upgrade. To upgrade without a backup: `kubectl annotate dojos.core.jutsu.com %[5]s -n %[1]s "+
				"--overwrite %[6]s=%[4]d`. If that upgrade fails, the data can be lost.",
			dojo.Namespace, cluster.Name, v.data, v.wanted, dojo.Name, corev1api.UpgradeWithoutBackupAnnotation)
	case name == "":
		issue = conditions.Progressing(corev1api.ReasonUpgrading,
			"Waiting until the operator creates the Backup, before Postgres %d is upgraded to %d.", v.data, v.wanted).
			After(apply.StaleRetry)
	case s.Backup == nil:
		desired := ownership.Data(dojo, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpecNow(dojo, cluster))
		step = cnpg.Write(apply.Write(ownership.FieldOwner, s.Backup, desired))
		issue = backingUp(v, name)
	case cnpg.BackupFailed(s.Backup):
		issue = conditions.Degraded(corev1api.ReasonUpgradeBackupFailed,
			"The Backup %s before the upgrade from Postgres %d to %d has failed: %s. Nothing is upgraded. "+
				"To retry, delete the Backup: `kubectl delete backups.postgresql.cnpg.io %s -n %s`. %s",
			name, v.data, v.wanted, cnpg.BackupError(s.Backup), name, dojo.Namespace,
			adviceForBackup(dojo, v))
	default:
		see := fmt.Sprintf("See `kubectl describe backups.postgresql.cnpg.io %s -n %s`. ", name, dojo.Namespace)
		if in.Older != nil {
			first, advice := cnpg.OlderBackup(in.Older)
			see = fmt.Sprintf("The Backup waits for %s. %s. ", first, advice)
		}
		since, limit := cnpg.BackupLimit(s.Backup, in.Deadline)
		issue = conditions.WaitUntil(in.Now, since, limit, backingUp(v, name),
			conditions.Degraded(corev1api.ReasonUpgradeBackupFailed,
				"The Backup %s before the upgrade from Postgres %d to %d has not completed within %s. Nothing "+
					"is upgraded. %s%s", name, v.data, v.wanted, limit, see, adviceForBackup(dojo, v)))
	}
	step.Incomplete = issue
	return step
}

// adviceForBackup advises to set the former version first, because the operator does not change the
// Cluster's plugins while an upgrade is due.
func adviceForBackup(dojo *corev1api.Dojo, v versions) string {
	return fmt.Sprintf("If spec.postgres.cluster.backup is wrong, set the version to %d again, correct that field%s, "+
		"then upgrade.", v.data, thenBackUp(dojo))
}

// thenBackUp advises a backup after a change of serverName by `kubectl dojo upgrade`: the archive
// under the new serverName has no base backup.
func thenBackUp(dojo *corev1api.Dojo) string {
	if policy := dojo.BackupPolicy(); policy == nil || policy.Method != corev1api.BackupPlugin {
		return ""
	}
	return fmt.Sprintf(", then run `kubectl dojo backup %s -n %s`", dojo.Name, dojo.Namespace)
}

func backingUp(v versions, backup string) *conditions.Issue {
	return conditions.Progressing(corev1api.ReasonUpgrading,
		"Waiting until the Backup %s has completed, before Postgres %d is upgraded to %d.", backup, v.data, v.wanted)
}

// takeAfter plans the first Backup of the new version. A Backup of the former version cannot
// restore a time after the upgrade.
func takeAfter(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State) *apply.Object {
	v := versionsOf(dojo, cluster, s)
	name := backupName(dojo, cluster, afterSuffix, v)
	if dojo.BackupPolicy() == nil || s.After != nil || v.data == v.from || name == "" {
		return nil
	}
	return apply.Write(ownership.FieldOwner, s.After, ownership.Data(
		dojo, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpec(dojo, dojo.BackupPolicy())))
}

func wait(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, in Input) *conditions.Issue {
	v := versionsOf(dojo, cluster, s)
	from := v.from
	if !v.begun() {
		from = v.data
	}
	object := fmt.Sprintf("upgrade of the Cluster %s/%s from Postgres %d to %d",
		dojo.Namespace, cluster.Name, from, v.target())
	if v.returning() {
		object = fmt.Sprintf("return of the Cluster %s/%s to Postgres %d", dojo.Namespace, cluster.Name, from)
	}
	message := fmt.Sprintf("Waiting for the %s: %s.", object, cluster.Status.Phase)
	advice := adviceBeforeStart(dojo, s, from)
	switch {
	case in.Step == corev1api.UpgradeStopping:
		object = "pods to end, before the " + object
		message = fmt.Sprintf("Waiting for the %s: %s.", object, in.Running)
		advice = fmt.Sprintf("See `kubectl dojo tree %s -n %s`, and check that the pod's node is Ready. %s",
			dojo.Name, dojo.Namespace, advice)
	case v.returning():
		advice = adviceForReturn(dojo, cluster, s, v)
	case v.begun() && v.data == v.target():
		message = fmt.Sprintf("The data has the format "+
			"of Postgres %d now. Waiting for the primary: %s.", v.data, cluster.Status.Phase)
		advice = fmt.Sprintf("See `kubectl describe clusters.postgresql.cnpg.io %s -n %s` and its pods. %s",
			cluster.Name, dojo.Namespace, restoreAdvice(dojo, cluster, s, from))
	case failed(s.Job):
		return conditions.Degraded(corev1api.ReasonUpgradeFailed, "The %s has failed. Neither the application nor "+
			"Postgres runs. %s", object, adviceAfterFailure(dojo, cluster, s, from))
	case v.committed:
		message += fmt.Sprintf(" pg_upgrade has begun. Postgres %d cannot start before pg_upgrade has ended.", from)
		advice = fmt.Sprintf("See `kubectl logs job/%s -n %s`.", s.Job.Name, dojo.Namespace)
	}
	since := dojo.WaitingSince(object, in.Now)
	if s.Job != nil && s.Job.Status.StartTime != nil && v.data != v.target() {
		since = s.Job.Status.StartTime.Time
	}
	return conditions.WaitUntil(in.Now, since, in.Deadline,
		conditions.Progressing(corev1api.ReasonUpgrading, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonUpgradeFailed,
			"%s It has been like this for more than %s; the operator still waits. %s", message, in.Deadline, advice).For(object))
}

func adviceBeforeStart(dojo *corev1api.Dojo, s State, from int) string {
	advice := fmt.Sprintf("To go back, set the version to %d again%s. The data has not changed, so the Cluster starts "+
		"with that version.", from, thenBackUp(dojo))
	if s.Job != nil {
		return fmt.Sprintf("See `kubectl describe job %s -n %s`. %s", s.Job.Name, dojo.Namespace, advice)
	}
	return advice
}

// adviceAfterFailure refers to the log: if it names pg_control.old, pg_upgrade may have linked the
// files (disable_old_cluster in pg_upgrade's controldata.c).
func adviceAfterFailure(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, from int) string {
	if neverStarted(s.Pods) {
		return adviceBeforeStart(dojo, s, from)
	}
	return fmt.Sprintf("See `kubectl logs job/%[1]s -n %[2]s`. If the log does not name pg_control.old, set the version "+
		"to %[3]d again%[5]s. The data has not changed, so Postgres %[3]d starts. If the log names pg_control.old, or "+
		"if there is no log any more, Postgres %[3]d possibly cannot use the data any more. %[4]s",
		s.Job.Name, dojo.Namespace, from, restoreAdvice(dojo, cluster, s, from), thenBackUp(dojo))
}

// adviceForReturn advises a second upgrade only if the new data has replaced the former data.
// Otherwise the new upgrade Job would first delete the new data
// (internal/cmd/manager/instance/upgrade/execute/cmd.go).
func adviceForReturn(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, v versions) string {
	return fmt.Sprintf("See `kubectl describe clusters.postgresql.cnpg.io %[1]s -n %[2]s` and its pods. If Postgres "+
		"%[3]d does not start, pg_upgrade has changed the data. See `kubectl dojo logs %[4]s postgres -n %[2]s`. If this "+
		"log says that the data directory was initialized by a higher version, set that version again. Otherwise do not "+
		"set it: CloudNativePG would delete the data that pg_upgrade has written. %[5]s",
		cluster.Name, dojo.Namespace, v.from, dojo.Name, restoreAdvice(dojo, cluster, s, v.from))
}

func verificationFailed(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, why string) *conditions.Issue {
	v := versionsOf(dojo, cluster, s)
	return conditions.Degraded(corev1api.ReasonUpgradeFailed,
		"Postgres %d runs. No pod of the application starts, because the query that verifies the upgrade fails: %s. %s",
		v.data, strings.TrimRight(why, ".\n "), restoreAdvice(dojo, cluster, s, v.from))
}

func restoreAdvice(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, from int) string {
	name := takenBefore(cluster, s)
	switch {
	case name == "":
		return fmt.Sprintf("The upgrade made no backup of Postgres %d. To go back, restore an older backup, if there is "+
			"one.", from)
	case s.Backup == nil:
		return fmt.Sprintf("To go back, restore the backup %s of Postgres %d. Its Backup object no longer exists, "+
			"perhaps because serverName was changed. So use bootstrap.recovery.objectStore and the former serverName, as "+
			"docs/do/upgrade-postgres.md says. If that backup is a volume snapshot, use "+
			"bootstrap.recovery.volumeSnapshot instead.", name, from)
	}
	command := fmt.Sprintf("`kubectl dojo restore %s -n %s --backup %s --as NAME`", dojo.Name, dojo.Namespace, name)
	if archives(dojo) {
		return fmt.Sprintf("To go back, restore the archive of Postgres %d to a Dojo beside this one, with "+
			"bootstrap.recovery.objectStore and the former serverName, as docs/do/upgrade-postgres.md says. To "+
			"restore only the Backup: %s. The writes between the Backup and the stop of the pods are then lost.", from, command)
	}
	return fmt.Sprintf("To go back, restore the Backup %s of Postgres %d to a Dojo beside this one: %s.",
		name, from, command)
}

// Upgraded reports whether the data has the new version, but the upgrade is not verified yet.
func Upgraded(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State) bool {
	v := versionsOf(dojo, cluster, s)
	return v.begun() && v.data > v.from
}

// Begun reports whether the upgrade has begun and is not verified yet.
func Begun(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State) bool {
	return versionsOf(dojo, cluster, s).begun()
}

// Unreachable says why requests cannot reach the application during an upgrade.
func Unreachable(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State) string {
	return fmt.Sprintf("The application is stopped until the change of the Cluster %s/%s to Postgres %d has ended.",
		dojo.Namespace, cluster.Name, versionsOf(dojo, cluster, s).target())
}

// Status returns the upgrade's part of a Dojo's status, or nil.
func Status(
	dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, s State, step corev1api.UpgradeStep, now time.Time,
) *corev1api.UpgradeStatus {
	if step == "" {
		return nil
	}
	v := versionsOf(dojo, cluster, s)
	status := &corev1api.UpgradeStatus{From: strconv.Itoa(v.data), To: strconv.Itoa(v.target()), Step: step}
	if v.begun() {
		status.From = strconv.Itoa(v.from)
	}
	status.Backup = takenBefore(cluster, s)
	if status.RequestedAt = requestedAt(dojo, v); status.RequestedAt == nil {
		status.RequestedAt = new(metav1.NewTime(now).Rfc3339Copy())
	}
	return status
}
