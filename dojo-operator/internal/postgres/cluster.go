// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// cluster brings up the Cluster where the Dojo has one of its own, and waits for its primary.
func (w *way) cluster() *conditions.Issue {
	d, live := w.dojo, w.state.Cluster
	own := d.Spec.Postgres.Cluster
	if own != nil {
		c := sync(w.state, live, cluster.For(d, live, w.config.images()))
		if w.incomplete = cluster.VersionTooLow(d, live, w.config.images()); w.incomplete != nil {
			c = nil // not even another field: CloudNativePG would refuse it with this one
		}
		w.write(c)
		w.schedule()
		if live == nil {
			return cluster.Progress(d, &cnpgv1.Cluster{Spec: cnpgv1.ClusterSpec{Instances: int(*own.Instances)}})
		}
		if c != nil {
			w.incomplete = cluster.Progress(d, live)
		}
	}
	if live == nil {
		return w.clusterMissing()
	}
	switch waiting := cluster.Progress(d, live); {
	case cluster.Hibernates(live):
		return conditions.Degraded(corev1api.ReasonClusterHibernated,
			"The Cluster %s/%s is hibernated. Resume it with `kubectl annotate cluster %s %s-`.",
			d.Namespace, live.Name, live.Name, cluster.HibernationAnnotation)
	case !cluster.Up(live):
		return w.waitForPrimary(waiting)
	case own != nil && !w.incomplete.IsDegraded() && live.Status.ReadyInstances < live.Spec.Instances:
		w.incomplete = w.waitForStandbys(waiting)
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
	since := latest(cluster.ReadySince(live), w.dojo.WaitingSince(object, w.state.Now))
	exceeded := w.notReady(waiting).For(object)
	return conditions.WaitUntil(w.state.Now, since, w.config.Deadline, waiting.For(object), exceeded)
}

// waitForStandbys waits for all instances, beside the primary, until nothing has changed for a while.
func (w *way) waitForStandbys(waiting *conditions.Issue) *conditions.Issue {
	since := latest(cluster.ReadySince(w.state.Cluster), cluster.LastWritten(w.state.Cluster))
	return conditions.WaitUntil(w.state.Now, since, w.config.Deadline, waiting, w.notReady(waiting))
}

func (w *way) notReady(waiting *conditions.Issue) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonClusterNotReady,
		"%s Nothing has changed for %s. See `kubectl describe cluster %s` and its pods.",
		waiting.Message, w.config.Deadline, w.state.Cluster.Name)
}

// Unreachable says why requests cannot reach Postgres; empty where they can, and where that is not
// known.
func Unreachable(d *corev1api.Dojo, s State) string {
	if d.Spec.Postgres == nil || !s.readable() || cluster.Up(s.Cluster) {
		return ""
	}
	return cluster.Unreachable(d, s.Cluster)
}
