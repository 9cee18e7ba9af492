// SPDX-License-Identifier: Apache-2.0

// Package upgrade brings a Dojo's own Cluster to a higher major version of Postgres, one step after the
// other: back up, stop the application, let CloudNativePG upgrade, verify by a query, back to serving.
//
// CloudNativePG upgrades in place, while no instance runs (pg_upgrade --link in a Job, docs/src/postgres_upgrades.md),
// as soon as a Cluster names an image of a higher major version. So the Cluster keeps its image until the
// steps before are done ([change]). Which step is next follows from the objects alone ([Next]): from the
// spec, which version is wanted; from the Cluster, which version its data has, and by an annotation that is
// written with the new image and taken away after the query, from which version it comes.
//
// Until pg_upgrade runs the data is as it was: a Cluster that names an image of its former version again starts
// with it. While pg_upgrade runs, the former version is not written ([committed]). Once it has begun to link the
// files, the way back is the backup.
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
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// fromAnnotation on a Cluster is the major version from which it is upgraded, until the new one is
// verified.
const fromAnnotation = "core.jutsu.com/upgrading-from"

// backupAnnotation on a Cluster is the name of the Backup that was taken before.
const backupAnnotation = "core.jutsu.com/upgrade-backup"

// State is what there is of an upgrade. What does not exist is nil.
type State struct {
	// Images say where Postgres comes from.
	Images cnpg.Images
	// Backup is the one before the upgrade, After the first one of the new version.
	Backup, After *cnpgv1.Backup
	// Job is CloudNativePG's, which runs pg_upgrade, in Pods.
	Job  *batchv1.Job
	Pods []corev1.Pod
}

// Observe reads what there is of an upgrade of a Dojo's own Cluster; nothing where none is due.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, c *cnpgv1.Cluster, images cnpg.Images,
) (s State, err error) {
	s.Images = images
	v := versionsOf(d, c, s)
	if !v.due() && !v.begun() {
		return s, nil
	}
	backups := map[string]**cnpgv1.Backup{beforeName(d, c, v): &s.Backup, nameOf(d, c, after, v): &s.After}
	delete(backups, "") // of an upgrade that a user has allowed without, or that is not recorded yet
	for name, backup := range backups {
		name := types.NamespacedName{Namespace: d.Namespace, Name: name}
		if *backup, err = apply.Get(ctx, r, cnpg.BackupKind.Kind, name, &cnpgv1.Backup{}); err != nil {
			return s, err
		}
	}
	if !v.begun() {
		return s, nil
	}
	err = s.observeJob(ctx, r, c)
	return s, err
}

// versions are the major versions that an upgrade is about; 0 is none, or one that is not known.
type versions struct {
	// wants is what the spec asks for, names what the Cluster is to be, and has that of its data.
	wants, names, has int
	// from is that of the data before the upgrade that has begun.
	from int
	// up is whether Postgres can be reached, committed whether pg_upgrade runs or has succeeded.
	up, committed bool
}

func versionsOf(d *corev1api.Dojo, c *cnpgv1.Cluster, s State) (v versions) {
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil || !ownership.Holds(d, c) {
		return v
	}
	v.wants, v.names, v.has = cnpg.Majors(d, c, s.Images)
	v.from, _ = strconv.Atoi(c.Annotations[fromAnnotation])
	v.up, v.committed = cnpg.Up(c), committed(s.Job, s.Pods)
	return v
}

// begun reports whether the Cluster has got its new version, and that is not verified.
func (v versions) begun() bool { return v.from > 0 }

// due reports whether an upgrade is wanted that has not begun.
func (v versions) due() bool { return !v.begun() && v.has > 0 && v.wants > v.has }

// back reports whether the former version is wanted again, while the data still is of it.
func (v versions) back() bool {
	return v.begun() && v.has == v.from && v.wants == v.from && !v.committed
}

// forward reports whether an upgrade that was taken back is wanted again while the former version does not start,
// which it may never do: pg_upgrade may have changed the data.
func (v versions) forward() bool {
	return v.begun() && v.has == v.from && v.names == v.from && v.wants > v.from && !v.up
}

// target is the version to which an upgrade leads.
func (v versions) target() int {
	if v.begun() && !v.back() && !v.forward() {
		return max(v.names, v.has)
	}
	return v.wants
}

const before, after = "before", "after"

// requestedAt is when an upgrade was asked for, as the status of the Dojo records it; nil while it does not. What it
// records of an upgrade that has been verified, or taken back, does not count for the next.
func requestedAt(d *corev1api.Dojo, v versions) *metav1.Time {
	db := d.Status.Database
	if db == nil || db.Upgrade == nil || db.Upgrade.Step == corev1api.UpgradeVerifying && !v.begun() {
		return nil
	}
	return db.Upgrade.RequestedAt
}

// nameOf is the name of the Backup before or after this very upgrade: one that is asked for again later gets another.
// It is empty while the status does not record when the upgrade was asked for.
func nameOf(d *corev1api.Dojo, c *cnpgv1.Cluster, suffix string, v versions) string {
	const maxStem = 45 // as that of the final Backup, for the labels of snapshots
	requested := requestedAt(d, v)
	if requested == nil {
		return ""
	}
	of := fmt.Sprint(c.UID, requested.Unix(), v.target())
	return d.Name[:min(len(d.Name), maxStem)] + "-" + suffix + "-" + cnpg.ShortHash(of)
}

func beforeName(d *corev1api.Dojo, c *cnpgv1.Cluster, v versions) string {
	if v.begun() {
		return c.Annotations[backupAnnotation]
	}
	return nameOf(d, c, before, v)
}

// Next is which step an upgrade of a Dojo's own Cluster has come to, empty for none. stopped is whether
// no pod of the application and no SQL runs.
func Next(d *corev1api.Dojo, c *cnpgv1.Cluster, s State, stopped bool) corev1api.UpgradeStep {
	switch v := versionsOf(d, c, s); {
	case v.due() && !v.up:
		return corev1api.UpgradeWaiting
	case v.due() && !saved(d, s, v):
		return corev1api.UpgradeBackingUp
	case v.due() && !stopped:
		return corev1api.UpgradeStopping
	case v.due():
		return corev1api.UpgradeUpgrading
	case !v.begun():
		return ""
	case v.has != v.target() || !v.up:
		return corev1api.UpgradeUpgrading
	}
	return corev1api.UpgradeVerifying
}

// RequiresStop reports whether the application must not run in a step.
func RequiresStop(step corev1api.UpgradeStep) bool {
	switch step {
	case corev1api.UpgradeStopping, corev1api.UpgradeUpgrading, corev1api.UpgradeVerifying:
		return true
	case corev1api.UpgradeWaiting, corev1api.UpgradeBackingUp:
	}
	return false
}

// saved reports whether there is a backup, or a user does without for this version.
func saved(d *corev1api.Dojo, s State, v versions) bool {
	if d.Annotations[corev1api.UpgradeWithoutBackupAnnotation] == strconv.Itoa(v.wants) {
		return true
	}
	return d.BackupPolicy() != nil && s.Backup != nil && s.Backup.Status.Phase == cnpgv1.BackupPhaseCompleted
}

// change returns what a step changes of the Cluster that the spec asks for: it keeps its own image until
// the upgrade may begin, and is annotated with the version from which it comes until the new one is verified.
func change(d *corev1api.Dojo, c *cnpgv1.Cluster, s State, step corev1api.UpgradeStep) (all cnpg.Change) {
	v := versionsOf(d, c, s)
	starts := v.due() && step == corev1api.UpgradeUpgrading
	// CloudNativePG takes what its Job has made for the version that the Cluster names when the Job ends.
	running := v.begun() && v.has == v.from && v.names > v.from && !v.back()
	if v.due() && !starts || running || v.begun() && v.wants > v.has && !v.forward() {
		all.Spec = held(c)
	}
	from := v.from
	if starts {
		from = v.has
	}
	if from > 0 {
		all.Annotations = map[string]string{fromAnnotation: strconv.Itoa(from)}
		if name := takenBefore(c, s); name != "" {
			all.Annotations[backupAnnotation] = name
		}
	}
	return all
}

// held is the image of a Cluster, and where it archives to: what the log of a new version overwrites is
// not for one of the former.
func held(live *cnpgv1.Cluster) map[string]any {
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

// takenBefore is the name of the Backup before an upgrade that has completed, empty where there is none. Its object
// may be gone:
// barman-cloud deletes those that are not in the place to which the Cluster archives now, and the upgrade is
// when that changes (plugin-barman-cloud, internal/cnpgi/instance/retention.go, deleteBackupsNotInCatalog).
func takenBefore(c *cnpgv1.Cluster, s State) string {
	switch name := c.Annotations[backupAnnotation]; {
	case name != "":
		return name
	case s.Backup != nil && s.Backup.Status.Phase == cnpgv1.BackupPhaseCompleted:
		return s.Backup.Name
	}
	return ""
}

// Verification identifies the query after an upgrade, and is the version that it has to find.
func Verification(d *corev1api.Dojo, c *cnpgv1.Cluster, s State) (of string, major int) {
	v := versionsOf(d, c, s)
	return fmt.Sprint(c.UID, " from ", v.from, " to ", v.has), v.has
}

// takeBefore takes the backup before an upgrade, and is incomplete until it has completed.
func takeBefore(d *corev1api.Dojo, c *cnpgv1.Cluster, s State, in Input) (step cnpg.Step) {
	v := versionsOf(d, c, s)
	name, policy := nameOf(d, c, before, v), d.BackupPolicy()
	var issue *conditions.Issue
	switch {
	case policy == nil:
		issue = conditions.Degraded(corev1api.ReasonUpgradeNeedsBackup,
			"The upgrade of the Cluster %s/%s from Postgres %d to %d has not begun: without spec.postgres.cluster.backup there "+
				"would be no way back. Configure backups; or do without one for this version with "+
				"`kubectl annotate dojo %s --overwrite %s=%d`; or set the version to %d again.",
			d.Namespace, c.Name, v.has, v.wants, d.Name, corev1api.UpgradeWithoutBackupAnnotation, v.wants, v.has)
	case name == "":
		issue = conditions.Progressing(corev1api.ReasonUpgrading,
			"Waiting for the Backup before Postgres %d is upgraded to %d.", v.has, v.wants).After(apply.StaleRetry)
	case s.Backup == nil:
		desired := ownership.Data(d, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpecNow(d, c))
		step = cnpg.Write(apply.Write(ownership.FieldOwner, s.Backup, desired))
		issue = backingUp(v, name)
	case cnpg.BackupFailed(s.Backup):
		issue = conditions.Degraded(corev1api.ReasonUpgradeBackupFailed,
			"The Backup %s before the upgrade from Postgres %d to %d has failed, so that nothing is upgraded: %s. "+
				"Retry it with `kubectl delete backup %s`, or set the version to %d again.",
			name, v.has, v.wants, strings.TrimSuffix(s.Backup.Status.Error, "."), name, v.has)
	default:
		since, deadline := s.Backup.CreationTimestamp.Time, in.Deadline
		if started := s.Backup.Status.StartedAt; started != nil {
			since, deadline = started.Time, cnpg.MaxBackupTime
		}
		issue = conditions.WaitUntil(in.Now, since, deadline, backingUp(v, name),
			conditions.Degraded(corev1api.ReasonUpgradeBackupFailed,
				"The Backup %s before the upgrade from Postgres %d to %d has not completed for more than %s, so that nothing is "+
					"upgraded. See `kubectl describe backup %s`; or set the version to %d again.",
				name, v.has, v.wants, deadline, name, v.has))
	}
	step.Incomplete = issue
	return step
}

func backingUp(v versions, backup string) *conditions.Issue {
	return conditions.Progressing(corev1api.ReasonUpgrading,
		"Waiting until the Backup %s has completed, before Postgres %d is upgraded to %d.", backup, v.has, v.wants)
}

// takeAfter takes the first backup of the new version, from which it can be restored: backups of the
// former version do not reach beyond the upgrade. It is not waited for.
func takeAfter(d *corev1api.Dojo, c *cnpgv1.Cluster, s State) *apply.Object {
	v := versionsOf(d, c, s)
	name := nameOf(d, c, after, v)
	if d.BackupPolicy() == nil || s.After != nil || v.has == v.from || name == "" {
		return nil
	}
	return apply.Write(ownership.FieldOwner, s.After, ownership.Data(
		d, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpec(d, d.BackupPolicy())))
}

// wait is the issue in the steps Stopping and Upgrading.
func wait(d *corev1api.Dojo, c *cnpgv1.Cluster, s State, in Input) *conditions.Issue {
	v := versionsOf(d, c, s)
	from := v.from
	if !v.begun() {
		from = v.has
	}
	object := fmt.Sprintf("upgrade of the Cluster %s/%s from Postgres %d to %d", d.Namespace, c.Name, from, v.target())
	if v.back() {
		object = fmt.Sprintf("return of the Cluster %s/%s to Postgres %d", d.Namespace, c.Name, from)
	}
	message, advice := fmt.Sprintf("Waiting for the %s: %s.", object, c.Status.Phase), unbegun(s, from)
	switch {
	case in.Step == corev1api.UpgradeStopping:
		object = "pods to end, before the " + object
		message = fmt.Sprintf("Waiting for the %s: %s.", object, in.Running)
		advice = "See `kubectl describe pod` of it, and whether its node answers. " + advice
	case v.back():
		advice = unreturned(c, s, v)
	case v.begun() && v.has == v.target():
		message = fmt.Sprintf("The data is of Postgres %d now. Waiting for the primary: %s.", v.has, c.Status.Phase)
		advice = fmt.Sprintf("See `kubectl describe cluster %s` and its pods. %s", c.Name, restore(c, s, from))
	case failed(s.Job):
		return conditions.Degraded(corev1api.ReasonUpgradeFailed, "The %s has failed, and no pod runs. %s", object,
			afterFailure(c, s, from))
	case v.committed:
		message += fmt.Sprintf(" pg_upgrade has begun: Postgres %d does not come back before it has ended.", from)
		advice = fmt.Sprintf("See `kubectl logs job/%s`.", s.Job.Name)
	}
	since := d.WaitingSince(object, in.Now)
	if s.Job != nil && s.Job.Status.StartTime != nil && v.has != v.target() {
		since = s.Job.Status.StartTime.Time
	}
	return conditions.WaitUntil(in.Now, since, in.Deadline,
		conditions.Progressing(corev1api.ReasonUpgrading, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonUpgradeFailed,
			"%s It has been like this for more than %s, and goes on. %s", message, in.Deadline, advice).For(object))
}

// unbegun is what helps while pg_upgrade has not begun.
func unbegun(s State, from int) string {
	advice := fmt.Sprintf("Set the version to %d again to go back: the data is as it was, and the Cluster starts with it.",
		from)
	if s.Job != nil {
		return fmt.Sprintf("See `kubectl describe job %s`. %s", s.Job.Name, advice)
	}
	return advice
}

// afterFailure is what helps after the Job has failed. Whether pg_upgrade had begun to link the files, its log alone
// says: it then names global/pg_control.old, to which it renames a file that Postgres does not start without
// (disable_old_cluster in its controldata.c).
func afterFailure(c *cnpgv1.Cluster, s State, from int) string {
	if untouched(s.Pods) {
		return unbegun(s, from)
	}
	return fmt.Sprintf("See `kubectl logs job/%s`. If its log names pg_control.old, or is gone, Postgres %d may not "+
		"start with the data any more. %s Otherwise, set the version to %d again: the data is as it was, and the Cluster "+
		"starts with it.", s.Job.Name, from, restore(c, s, from), from)
}

// unreturned is what helps where the former version does not start.
func unreturned(c *cnpgv1.Cluster, s State, v versions) string {
	return fmt.Sprintf("See `kubectl describe cluster %s` and its pods. If Postgres %d does not start, pg_upgrade had "+
		"begun with its data: set the higher version again, which succeeds if the new data is in place. Otherwise: %s",
		c.Name, v.from, restore(c, s, v.from))
}

// unverified is the issue with a query that fails after an upgrade.
func unverified(d *corev1api.Dojo, c *cnpgv1.Cluster, s State, why string) *conditions.Issue {
	v := versionsOf(d, c, s)
	return conditions.Degraded(corev1api.ReasonUpgradeFailed,
		"Postgres %d runs, and no pod of the application, because the query that verifies it fails: %s. %s",
		v.has, strings.TrimRight(why, ".\n "), restore(c, s, v.from))
}

func restore(c *cnpgv1.Cluster, s State, from int) string {
	name := takenBefore(c, s)
	switch {
	case name == "":
		return fmt.Sprintf("There is no backup of Postgres %d.", from)
	case s.Backup == nil:
		return fmt.Sprintf("The way back is the backup %s of Postgres %d. Its object is gone, as where serverName changes, "+
			"but not what it stands for: docs/operations.md restores that by bootstrap.recovery.objectStore, of the former "+
			"serverName.", name, from)
	}
	return fmt.Sprintf("The way back is the Backup %s of Postgres %d, which docs/operations.md restores.", name, from)
}

// Upgraded reports whether the data is of the new version, which is not verified yet.
func Upgraded(d *corev1api.Dojo, c *cnpgv1.Cluster, s State) bool {
	v := versionsOf(d, c, s)
	return v.begun() && v.has > v.from
}

// Begun reports whether the Cluster names its new version, which is not verified yet.
func Begun(d *corev1api.Dojo, c *cnpgv1.Cluster, s State) bool { return versionsOf(d, c, s).begun() }

// Unreachable says why no pod runs amid an upgrade.
func Unreachable(d *corev1api.Dojo, c *cnpgv1.Cluster, s State) string {
	return fmt.Sprintf("No pod runs while Postgres in the Cluster %s/%s is upgraded to version %d.",
		d.Namespace, c.Name, versionsOf(d, c, s).target())
}

// Status is what the status of a Dojo says of an upgrade; nil where there is none.
func Status(
	d *corev1api.Dojo, c *cnpgv1.Cluster, s State, step corev1api.UpgradeStep, now time.Time,
) *corev1api.UpgradeStatus {
	if step == "" {
		return nil
	}
	v := versionsOf(d, c, s)
	status := &corev1api.UpgradeStatus{From: strconv.Itoa(v.has), To: strconv.Itoa(v.target()), Step: step}
	if v.begun() {
		status.From = strconv.Itoa(v.from)
	}
	status.Backup = takenBefore(c, s)
	if status.RequestedAt = requestedAt(d, v); status.RequestedAt == nil {
		status.RequestedAt = new(metav1.NewTime(now).Rfc3339Copy())
	}
	return status
}
