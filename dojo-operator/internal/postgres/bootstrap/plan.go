// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of a plan for the data of a Cluster.
type Input struct {
	cnpg.Input
	Cluster   *cnpgv1.Cluster
	Database  *cnpgv1.Database
	Connected bool
}

// Step is a step with its change of the Cluster.
type Step struct {
	cnpg.Step
	Change cnpg.Change
}

// Plan selects the data of a new Cluster. It blocks until that source is fully known.
func Plan(d *corev1api.Dojo, s State, in Input) (step Step) {
	if d.Spec.Postgres.Cluster == nil {
		return step
	}
	if step.Blocks = Check(d, in); step.Blocks != nil {
		return step
	}
	if in.Cluster != nil {
		step.Change = OriginalChange(in.Cluster)
		return step
	}
	if step.Step = dropFormer(d, in.Database); step.Blocks != nil {
		return step
	}
	fields, issue := fieldsFor(d, s, in.Now, in.ProgressDeadline)
	step.Blocks, step.Change = issue, newChange(d, fields)
	return step
}

// Check returns the issue of a Cluster that is lost or has another origin, or nil.
func Check(d *corev1api.Dojo, in Input) *conditions.Issue {
	if in.Cluster == nil {
		return lostIssue(d, in.Database, in.Connected)
	}
	return Mismatch(d, in.Cluster)
}

// CloudNativePG would create the former Database, empty, if the backup has none of its name.
func dropFormer(d *corev1api.Dojo, db *cnpgv1.Database) (step cnpg.Step) {
	if b := d.BootstrapSource(); b == nil || b.Recovery == nil || !ownership.Holds(d, db) {
		return step
	}
	if db.DeletionTimestamp == nil {
		step.Delete = []apply.Deletion{apply.Delete(cnpg.DatabaseKind.Kind, db)}
	}
	step.Blocks = conditions.Progressing(corev1api.ReasonRestoring,
		"Waiting until the Database %s/%s is deleted, which is of a Cluster that is gone.", db.Namespace, db.Name)
	return step
}

// Mismatch returns the issue of a Cluster whose origin differs from bootstrap, or nil.
func Mismatch(d *corev1api.Dojo, live *cnpgv1.Cluster) *conditions.Issue {
	origin := Origin(d)
	if origin == "" || live == nil || live.Annotations[corev1api.OriginAnnotation] == origin {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonOriginMismatch,
		"The Cluster %s/%s exists, and its data did not come from %q, as bootstrap says, so it is not used. For the data "+
			"that it has, delete the Dojo and create it without bootstrap. To replace that data, delete the Cluster. If it is "+
			"what you have restored yourself, `kubectl annotate cluster %s --overwrite %s=%q`.",
		d.Namespace, live.Name, origin, live.Name, corev1api.OriginAnnotation, origin)
}

// Filled reports whether a Cluster may have data of the Dojo.
func Filled(d *corev1api.Dojo, live *cnpgv1.Cluster) bool {
	return live != nil && Mismatch(d, live) == nil && (d.BootstrapSource() == nil || filled(live))
}

const maxFillTime = 6 * time.Hour

// Progress returns the issue while a Cluster is being filled, or nil.
func Progress(
	d *corev1api.Dojo, live *cnpgv1.Cluster, s State, now time.Time, deadline time.Duration,
) *conditions.Issue {
	b := d.BootstrapSource()
	if b == nil || live == nil || filled(live) {
		return nil
	}
	object := fmt.Sprintf("data of the Cluster %s/%s", live.Namespace, live.Name)
	waiting, failed := corev1api.ReasonRestoring, corev1api.ReasonRestoreFailed
	verb, hint := "restored", ""
	if b.Import != nil {
		waiting, failed, verb = corev1api.ReasonImporting, corev1api.ReasonImportFailed, "imported"
	} else if b.Recovery.TargetTime != "" {
		hint = " A targetTime is later than the end of a backup, and earlier than the last transaction in the log."
	}
	job := cnpg.BootstrapJobs(d)[0]
	if s.Job != nil {
		job = s.Job.Name
	}
	failedIssue := func(why string) *conditions.Issue {
		return conditions.Degraded(failed, "The %s cannot be %s from %s: %s. See `kubectl logs job/%s --all-containers` and "+
			"`kubectl describe cluster %s`.%s CloudNativePG tries several times; to start over, `kubectl delete cluster %s`, "+
			"which has no data yet. For another bootstrap, delete the Dojo and that Cluster, and create the Dojo again.",
			object, verb, Origin(d), why, job, live.Name, hint, live.Name).For(object)
	}
	switch {
	case s.Job != nil && s.Job.Status.Failed > 0:
		return failedIssue(fmt.Sprintf("pods of the Job %s have failed (%d)", job, s.Job.Status.Failed))
	case live.Status.Phase == cnpgv1.PhaseUnrecoverable:
		return failedIssue("its Job has given up")
	case s.Job != nil && s.Job.Status.Active > 0:
		deadline = maxFillTime
	}
	phase := ""
	if live.Status.Phase != "" {
		phase = ": " + live.Status.Phase
	}
	return conditions.WaitUntil(now, d.WaitingSince(object, now), deadline,
		conditions.Progressing(waiting, "The %s is being %s from %s%s.", object, verb, Origin(d), phase).For(object),
		failedIssue(fmt.Sprintf("it has taken more than %s%s", deadline, phase)))
}
