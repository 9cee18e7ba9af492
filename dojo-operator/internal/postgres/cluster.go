// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/upgrade"
	"jutsu.com/operators/libs/conditions"
)

// cluster brings up the Cluster where the Dojo has one of its own, and waits for its primary.
func (w *way) cluster() *conditions.Issue {
	d, live := w.dojo, w.state.Cluster
	own := d.Spec.Postgres.Cluster
	if own != nil {
		if issue := w.ownCluster(); issue != nil {
			return issue
		}
	}
	if live == nil {
		return w.clusterMissing()
	}
	switch waiting := cluster.Progress(d, live); {
	case cnpg.Hibernates(live) && (own == nil || !cnpg.HibernatedByUs(live)): // else it is being woken
		return conditions.Degraded(corev1api.ReasonClusterHibernated,
			"The Cluster %s/%s is hibernated. Resume it with `kubectl annotate cluster %s %s-`.",
			d.Namespace, live.Name, live.Name, cnpg.HibernationAnnotation)
	case !cnpg.Up(live):
		if fills := bootstrap.Progress(d, live, w.state.Bootstrap, w.state.Now, w.config.Deadline); fills != nil {
			return fills
		}
		return w.waitForPrimary(waiting)
	case own != nil && !w.incomplete.IsDegraded() && live.Status.ReadyInstances < live.Spec.Instances:
		w.incomplete = w.waitForStandbys(waiting)
	}
	return nil
}

// ownCluster creates the Dojo's own Cluster, or has it changed as the spec changes.
func (w *way) ownCluster() *conditions.Issue {
	d, live := w.dojo, w.state.Cluster
	if live == nil {
		if issue := w.createCluster(); issue != nil {
			return issue
		}
		instances := int(*d.Spec.Postgres.Cluster.Instances)
		return cluster.Progress(d, &cnpgv1.Cluster{Spec: cnpgv1.ClusterSpec{Instances: instances}})
	}
	if other := bootstrap.Mismatch(d, live); other != nil {
		return other
	}
	var written bool
	if w.incomplete = cluster.VersionTooLow(d, live, w.config.images()); w.incomplete == nil {
		// else not even another field: CloudNativePG would refuse it with this one
		var issue *conditions.Issue
		if written, issue = w.upgradeCluster(); issue != nil {
			return issue
		}
	}
	if UpgradeStep(d, w.state) != corev1api.UpgradeBackingUp { // until then, backups are where they were
		w.schedule()
	}
	if written && w.incomplete == nil {
		w.incomplete = cluster.Progress(d, live)
	}
	return nil
}

func (w *way) clusterMissing() *conditions.Issue {
	object := fmt.Sprintf("Cluster %s/%s", w.dojo.Namespace, cnpg.ClusterName(w.dojo))
	return conditions.WaitUntil(w.state.Now, w.dojo.WaitingSince(object, w.state.Now), w.config.Deadline,
		conditions.Progressing(corev1api.ReasonWaitingForCluster,
			"Waiting for the %s of CloudNativePG.", object).For(object),
		conditions.Degraded(corev1api.ReasonClusterNotFound,
			"The %s of CloudNativePG does not exist. Create it; the Dojo then continues automatically.", object).For(object))
}

// waitForPrimary waits until Postgres can be reached. It counts since when the Dojo waits:
// CloudNativePG writes the status of a Cluster that fails over every second
// (internal/controller/cluster_status.go resets targetPrimary), of one of others the cache does not
// have when it was written, and the Ready condition stays True in hibernation.
func (w *way) waitForPrimary(waiting *conditions.Issue) *conditions.Issue {
	live := w.state.Cluster
	if live.Status.CurrentPrimary != "" { // there has been one
		waiting.Message = cluster.Unreachable(w.dojo, live) + " " + waiting.Message
	}
	object := fmt.Sprintf("instances of the Cluster %s/%s", live.Namespace, live.Name)
	since := latest(cnpg.ReadySince(live), w.dojo.WaitingSince(object, w.state.Now))
	exceeded := w.notReady(waiting).For(object)
	return conditions.WaitUntil(w.state.Now, since, w.config.Deadline, waiting.For(object), exceeded)
}

// waitForStandbys waits for all instances, beside the primary. What CloudNativePG writes to the status, such as each
// failure of a standby to join, does not begin the time anew.
func (w *way) waitForStandbys(waiting *conditions.Issue) *conditions.Issue {
	live := w.state.Cluster
	object := fmt.Sprintf("standbys of the Cluster %s/%s", live.Namespace, live.Name)
	since := latest(cnpg.ReadySince(live), cnpg.LastAsked(live), w.dojo.WaitingSince(object, w.state.Now))
	exceeded := w.notReady(waiting).For(object)
	return conditions.WaitUntil(w.state.Now, since, w.config.Deadline, waiting.For(object), exceeded)
}

func (w *way) notReady(waiting *conditions.Issue) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonClusterNotReady,
		"%s That has lasted for more than %s. See `kubectl describe cluster %s` and its pods.",
		waiting.Message, w.config.Deadline, w.state.Cluster.Name)
}

// Unreachable says why requests cannot reach Postgres; empty where they can, and where that is not
// known.
func Unreachable(d *corev1api.Dojo, s State) string {
	switch {
	case d.Spec.Postgres == nil || !s.readable():
		return ""
	case Stops(d, s):
		return upgrade.Unreachable(d, s.Cluster, s.Upgrade)
	case cnpg.Up(s.Cluster) && cutOff(d, s):
		return pooler.Unreachable(d)
	case cnpg.Up(s.Cluster):
		return ""
	}
	return cluster.Unreachable(d, s.Cluster)
}
