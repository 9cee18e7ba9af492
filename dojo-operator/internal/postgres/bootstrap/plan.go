// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"fmt"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of [Plan] and [Check].
type Input struct {
	cnpg.Input
	Cluster   *cnpgv1.Cluster
	Database  *cnpgv1.Database
	Connected bool
}

// Step is a [cnpg.Step] and the change that it makes to the Cluster.
type Step struct {
	cnpg.Step
	Change cnpg.Change
}

// Plan selects the source of a new Cluster's data, and blocks until the source is known.
func Plan(dojo *corev1api.Dojo, s State, in Input) (step Step) {
	if dojo.Spec.Postgres.Cluster == nil {
		return step
	}
	if step.Blocks = Check(dojo, in); step.Blocks != nil {
		return step
	}
	if in.Cluster != nil {
		step.Change = OriginalChange(in.Cluster)
		return step
	}
	if step.Step = dropFormer(dojo, in.Database); step.Blocks != nil {
		return step
	}
	fields, issue := fieldsFor(dojo, s, in.Now, in.ProgressDeadline)
	step.Blocks, step.Change = issue, newChange(dojo, fields)
	return step
}

// Check returns an issue if the Cluster is lost, or the issue of [Mismatch].
func Check(dojo *corev1api.Dojo, in Input) *conditions.Issue {
	if in.Cluster == nil {
		return lostIssue(dojo, in.Database, in.Connected)
	}
	return Mismatch(dojo, in.Cluster)
}

// dropFormer deletes the Database of a lost Cluster before a recovery. If the backup lacked this
// database, CloudNativePG would otherwise create an empty database from the Database object.
func dropFormer(dojo *corev1api.Dojo, db *cnpgv1.Database) (step cnpg.Step) {
	if b := dojo.BootstrapSource(); b == nil || b.Recovery == nil || !ownership.Holds(dojo, db) {
		return step
	}
	if db.DeletionTimestamp == nil {
		step.Delete = []apply.Deletion{apply.Delete(cnpg.DatabaseKind.Kind, db)}
	}
	step.Blocks = conditions.Progressing(corev1api.ReasonRestoring,
		"Waiting until the Database %s/%s is deleted. It belongs to a Cluster that no longer exists.", db.Namespace, db.Name)
	return step
}

// Mismatch returns an issue if the spec has a bootstrap, but the Cluster has another origin.
func Mismatch(dojo *corev1api.Dojo, live *cnpgv1.Cluster) *conditions.Issue {
	origin := Origin(dojo)
	if origin == "" || live == nil || live.Annotations[corev1api.OriginAnnotation] == origin {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonOriginMismatch,
		"The Cluster %[1]s/%[2]s exists, but its data did not come from %[3]q, the source in "+
			"spec.postgres.cluster.bootstrap, so the Dojo does not use the Cluster. If you restored the Cluster from this "+
			"source yourself, confirm it with `kubectl annotate clusters.postgresql.cnpg.io %[2]s -n %[1]s "+
			"--overwrite %[4]s=%[3]q`. To use the data in the Cluster, delete the Dojo and create it again without "+
			"bootstrap. To use the source, delete the Cluster: `kubectl delete clusters.postgresql.cnpg.io %[2]s -n %[1]s`. "+
			"The data in the Cluster is then lost.",
		dojo.Namespace, live.Name, origin, corev1api.OriginAnnotation)
}

// Filled reports whether a Cluster may have data of the Dojo. While a restore runs, and after it has
// failed, the Cluster has none.
func Filled(dojo *corev1api.Dojo, live *cnpgv1.Cluster, s State) bool {
	if live == nil || Mismatch(dojo, live) != nil {
		return false
	}
	return filled(live) || dojo.BootstrapSource() == nil && !recovering(dojo, live, s)
}

const maxFillTime = 6 * time.Hour

// Progress returns the issue while a Cluster is being filled, or nil.
func Progress(
	dojo *corev1api.Dojo, live *cnpgv1.Cluster, s State, now time.Time, deadline time.Duration,
) *conditions.Issue {
	if live == nil || filled(live) || dojo.BootstrapSource() == nil && !recovering(dojo, live, s) {
		return nil
	}
	object := fmt.Sprintf("data of the Cluster %s/%s", live.Namespace, live.Name)
	fill, job, retries := fillingOf(dojo, live), jobName(dojo, live), ""
	failedIssue := func(why string) *conditions.Issue {
		return conditions.Degraded(fill.failed,
			"The %[1]s cannot be %[2]s from %[3]s: %[4]s. See `kubectl logs job/%[5]s -n %[6]s --all-containers` and "+
				"`kubectl describe clusters.postgresql.cnpg.io %[7]s -n %[6]s`.%[8]s To start over, delete the Cluster, which "+
				"has no complete data yet: `kubectl delete clusters.postgresql.cnpg.io %[7]s -n %[6]s`. %[9]s",
			object, fill.verb, fill.origin, why, job, live.Namespace, live.Name, fill.hint, fill.again).For(object)
	}
	switch {
	case live.Status.Phase == cnpgv1.PhaseUnrecoverable: // after the Job's backoffLimit
		return failedIssue("the Job has given up")
	case s.Job != nil && s.Job.Status.Failed > 0 && fill.inPlace: // a user waits for the result
		deadline, retries = maxFillTime, fmt.Sprintf(" Pods of the Job %s have failed (%d); the Job retries several times.",
			job, s.Job.Status.Failed)
	case s.Job != nil && s.Job.Status.Failed > 0:
		return failedIssue(fmt.Sprintf("pods of the Job %s have failed (%d); the Job retries several times",
			job, s.Job.Status.Failed))
	case s.Job != nil && s.Job.Status.Active > 0:
		deadline = maxFillTime
		fill.hint = " If the Job's log shows progress, wait: the Job continues, and ends when the Cluster is deleted." +
			fill.hint
	}
	phase := ""
	if live.Status.Phase != "" {
		phase = ": " + live.Status.Phase
	}
	return conditions.WaitUntil(now, dojo.WaitingSince(object, now), deadline,
		conditions.Progressing(fill.waiting,
			"The %s is being %s from %s%s.%s", object, fill.verb, fill.origin, phase, retries).For(object),
		failedIssue(fmt.Sprintf("more than %s have passed%s", deadline, phase)))
}

// recovering reports whether CloudNativePG restores the Dojo's own Cluster. The recovery stays in
// the Cluster's spec, and a backup tool may bring a Cluster back without its status. Therefore
// recovering needs a sign of a restore that has begun and has not ended.
func recovering(dojo *corev1api.Dojo, live *cnpgv1.Cluster, s State) bool {
	if dojo.Spec.Postgres.Cluster == nil || !recovers(live) {
		return false
	}
	return live.Status.Phase == cnpgv1.PhaseFirstPrimary || live.Status.Phase == cnpgv1.PhaseUnrecoverable ||
		s.Job != nil && s.Job.Status.Active+s.Job.Status.Failed > 0
}

// filling has the reasons and words for a Cluster that is being filled.
type filling struct {
	waiting, failed, verb, origin string
	// hint names a likely cause of a failure. again says what follows the deletion of the Cluster.
	hint, again string
	inPlace     bool // by `kubectl dojo restore`, and not by the Dojo's bootstrap
}

func fillingOf(dojo *corev1api.Dojo, live *cnpgv1.Cluster) filling {
	b := dojo.BootstrapSource()
	f := filling{
		waiting: corev1api.ReasonRestoring, failed: corev1api.ReasonRestoreFailed, verb: "restored", origin: Origin(dojo),
		again: "To change spec.postgres.cluster.bootstrap, delete the Dojo and the Cluster, and create the Dojo " +
			"again.",
	}
	const moment = " %s must be later than the end of a backup, and earlier than the last transaction in the archived " +
		"write-ahead log."
	switch {
	case b == nil, b.Import != nil && recovers(live):
		f.inPlace = true
		f.origin = cmp.Or(cnpg.ShortOrigin(live.Annotations[corev1api.OriginAnnotation]), "a backup")
		f.again = fmt.Sprintf("Then restore the data again: `kubectl dojo restore %s -n %s`.", dojo.Name, dojo.Namespace)
		if target := live.Spec.Bootstrap.Recovery.RecoveryTarget; target != nil && target.TargetTime != "" {
			f.hint = fmt.Sprintf(moment, "The moment to restore")
		}
	case b.Import != nil:
		f.waiting, f.failed, f.verb = corev1api.ReasonImporting, corev1api.ReasonImportFailed, "imported"
	case b.Recovery != nil && b.Recovery.TargetTime != "":
		f.hint = fmt.Sprintf(moment, "bootstrap.recovery.targetTime")
	}
	return f
}
