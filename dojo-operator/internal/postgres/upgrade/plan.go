// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of a plan for an upgrade.
type Input struct {
	cnpg.Input
	Cluster *cnpgv1.Cluster
	Step    corev1api.UpgradeStep
	// Running describes the pods that have not ended. Idle deletes Jobs that could still begin SQL.
	Running string
	Idle    []apply.Deletion
	// Older is an unfinished Backup of the Cluster that is older than the upgrade's Backup, which waits
	// for it. It is nil if there is none.
	Older *cnpgv1.Backup
	// Verification runs a query in the new version. Failed says why the query fails.
	Verification cnpg.Step
	Failed       string
	Statistics   *apply.Object
}

// Step is a [cnpg.Step] and the change that it makes to the Cluster.
type Step struct {
	cnpg.Step
	Change cnpg.Change
	// Last has the final writes. After them, the write of the Cluster ends the upgrade. If one of
	// the final writes fails, the Cluster is not written, and the next plan repeats the failed
	// write.
	Last []*apply.Object
}

// Plan continues an upgrade. It blocks while the operator waits for pods, pg_upgrade or the query.
func Plan(dojo *corev1api.Dojo, s State, in Input) Step {
	cluster := in.Cluster
	step := Step{Change: change(dojo, cluster, s, in.Step)}
	switch in.Step {
	case corev1api.UpgradeBackingUp:
		step.Step = takeBefore(dojo, cluster, s, in)
	case corev1api.UpgradeStopping:
		step.Delete = in.Idle
		step.Blocks = wait(dojo, cluster, s, in)
	case corev1api.UpgradeUpgrading:
		step.Blocks = wait(dojo, cluster, s, in)
	case corev1api.UpgradeVerifying:
		step.Step = in.Verification
		step.Blocks = verify(dojo, s, in)
		if step.Blocks == nil {
			last := cnpg.Write(takeAfter(dojo, cluster, s), in.Statistics)
			step.Step, step.Last = step.Then(last), last.Apply
			step.Change.Annotations = nil
		}
	case corev1api.UpgradeWaiting:
	}
	return step
}

func verify(dojo *corev1api.Dojo, s State, in Input) *conditions.Issue {
	issue := in.Verification.Blocks
	switch {
	case issue == nil:
		return nil
	case in.Failed != "":
		return verificationFailed(dojo, in.Cluster, s, in.Failed)
	case issue.IsDegraded(): // the query has not ended, and may yet succeed
		_, major := Verification(dojo, in.Cluster, s)
		issue.Message = fmt.Sprintf("Postgres %d runs. The application's pods start "+
			"after the query that verifies the upgrade. %s", major, issue.Message)
		return issue
	}
	issue.Reason = corev1api.ReasonUpgrading
	return issue
}
