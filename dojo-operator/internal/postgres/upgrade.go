// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/dojo-operator/internal/postgres/upgrade"
	"jutsu.com/operators/libs/conditions"
)

// UpgradeStep is the step that an upgrade to another major version of Postgres has come to, empty for none.
func UpgradeStep(d *corev1api.Dojo, s State) corev1api.UpgradeStep {
	if !s.readable() {
		if known := d.Status.Database; known != nil && known.Upgrade != nil {
			return known.Upgrade.Step
		}
		return ""
	}
	return upgrade.Next(d, s.Cluster, s.Upgrade, stopped(s))
}

// Stops reports whether an upgrade keeps the application from running.
func Stops(d *corev1api.Dojo, s State) bool {
	return d.Spec.Postgres != nil && upgrade.Stops(UpgradeStep(d, s))
}

// sleeps reports whether the Dojo's own Cluster is to be hibernated: not amid an upgrade.
func (w *way) sleeps() bool {
	return w.dojo.Spec.Suspend && w.dojo.Spec.Postgres.Cluster != nil &&
		!upgrade.Begun(w.dojo, w.state.Cluster, w.state.Upgrade)
}

// desiredCluster is the Dojo's own Cluster as it should be in a step of an upgrade; for one that sleeps or
// goes, no upgrade begins.
func desiredCluster(d *corev1api.Dojo, s State, step corev1api.UpgradeStep, cfg Config) *unstructured.Unstructured {
	return upgrade.Desired(d, s.Cluster, s.Upgrade, step, cluster.For(d, s.Cluster, cfg.images()))
}

// upgradeCluster writes the Dojo's own Cluster, and goes on with an upgrade where one is asked for. It returns
// what the rest has to wait for.
func (w *way) upgradeCluster() (written bool, issue *conditions.Issue) {
	d, s := w.dojo, w.state
	step := UpgradeStep(d, s)
	want := desiredCluster(d, s, step, w.config)
	in := upgrade.Input{Now: s.Now, Deadline: w.config.Deadline}
	switch step {
	case corev1api.UpgradeBackingUp:
		backup := upgrade.Backup(d, s.Cluster, s.Upgrade, in)
		w.Plan.Add(backup.Apply...)
		w.incomplete = conditions.Worst(backup.Issues)
	case corev1api.UpgradeStopping, corev1api.UpgradeUpgrading:
		if step == corev1api.UpgradeStopping {
			in.Running = w.running()
			w.Plan.Delete = append(w.Plan.Delete, s.Schema.StopIdle()...)
		}
		issue = upgrade.Wait(d, s.Cluster, s.Upgrade, step, in)
	case corev1api.UpgradeVerifying:
		if issue = w.verify(); issue == nil {
			w.Plan.Add(upgrade.AfterBackup(d, s.Cluster, s.Upgrade))
			w.gatherStatistics()
			want = upgrade.Verified(want)
		}
	case corev1api.UpgradeWaiting:
	}
	return w.writeCluster(want) != nil, issue
}

// gatherStatistics begins to gather the statistics that pg_upgrade leaves behind, while the application serves again.
func (w *way) gatherStatistics() {
	d, s := w.dojo, w.state
	if s.Database == nil || !upgrade.Upgraded(d, s.Cluster, s.Upgrade) {
		return
	}
	of, _ := upgrade.Verification(d, s.Cluster, s.Upgrade)
	w.Plan.Add(schema.Statistics(d, s.Schema, of, w.as(w.source), w.config.Users))
}

// verify runs a query in the new version of Postgres, and waits until it has succeeded.
func (w *way) verify() *conditions.Issue {
	d, s := w.dojo, w.state
	if s.Database == nil {
		return nil // there is nothing to query
	}
	of, major := upgrade.Verification(d, s.Cluster, s.Upgrade)
	step, failed := schema.PlanVerification(d, s.Schema, of, major, w.as(w.source), w.config.schema())
	step.Record = nil
	issue := w.run(step)
	switch {
	case issue == nil:
		return nil
	case failed != "":
		return upgrade.Unverified(d, s.Cluster, s.Upgrade, failed)
	case issue.IsDegraded(): // it has not ended, and may yet succeed
		issue.Message = fmt.Sprintf("Postgres %d runs, and no pod of the application, before the query that verifies it has "+
			"ended. %s", major, issue.Message)
		return issue
	}
	issue.Reason = corev1api.ReasonUpgrading
	return issue
}

func upgradeStatus(d *corev1api.Dojo, s State) *corev1api.UpgradeStatus {
	if known := d.Status.Database; !s.readable() && known != nil {
		return known.Upgrade
	}
	return upgrade.Status(d, s.Cluster, s.Upgrade, UpgradeStep(d, s), s.Now)
}
