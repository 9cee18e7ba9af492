// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/guests"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Away reports whether the Dojo's own Cluster has no primary, or the application cannot reach it, so that
// a pod that is started would fail.
func Away(d *corev1api.Dojo, s State) bool {
	return d.Spec.Postgres != nil && d.Spec.Postgres.Cluster != nil && s.readable() &&
		(!cluster.Up(s.Cluster) || cutOff(d, s))
}

// suspended is the way of a Dojo that is suspended and has a Cluster of its own: it is hibernated once
// nothing uses it, and nothing is done in Postgres. What does not exist yet is not made.
func (w *way) suspended() *conditions.Issue {
	d, live := w.dojo, w.state.Cluster
	if live == nil {
		return cluster.Lost(d, w.state.Database, w.state.Application.Connected)
	}
	if other := bootstrap.Mismatch(d, live); other != nil {
		return other
	}
	if tooLow := cluster.VersionTooLow(d, live, w.config.images()); tooLow != nil {
		return tooLow
	}
	idle := w.state.Application.Stopped && len(w.state.Schema.Alive()) == 0 && len(w.state.ClusterUsers) == 0
	hibernates := cluster.Hibernates(live) || idle
	if b := d.BackupPolicy(); b != nil && w.state.Schedule != nil {
		w.Plan.Add(sync(w.state, w.state.Schedule, cluster.ScheduleFor(d, b)))
	}
	want := desiredCluster(d, w.state, corev1api.UpgradeWaiting, w.config)
	w.writeCluster(cluster.Hibernating(want, hibernates))
	var pods *conditions.Issue
	if hibernates || w.state.Application.Stopped {
		pods = w.stopPooler()
	}
	switch {
	case hibernates:
		return cmp.Or(cluster.Hibernation(d, live, w.state.Now, w.config.Deadline), pods)
	case len(w.state.ClusterUsers) > 0:
		return guests.KeepAwake(live.Name, w.state.ClusterUsers)
	}
	return conditions.Progressing(corev1api.ReasonSuspending,
		"Waiting for the pods to end, before the Cluster %s/%s is hibernated.", d.Namespace, live.Name)
}

// writeCluster writes the Dojo's own Cluster where it is not as desired.
func (w *way) writeCluster(desired *unstructured.Unstructured) *apply.Object {
	c := sync(w.state, w.state.Cluster, desired)
	if c != nil {
		c.Invalid = cluster.Refused()
	}
	w.write(c)
	return c
}

// wake plans that the Cluster of a Dojo that is suspended and being deleted runs again, for the final
// backup: nothing where it is not we who hibernate it.
func wake(d *corev1api.Dojo, s State, cfg Config) (p apply.Plan) {
	if cluster.HibernatedByUs(s.Cluster) {
		p.Add(sync(s, s.Cluster, desiredCluster(d, s, corev1api.UpgradeWaiting, cfg)))
		p.Report(conditions.Progressing(corev1api.ReasonTakingFinalBackup,
			"Waiting until the Cluster %s/%s, which is hibernated, runs again for the final backup.",
			d.Namespace, s.Cluster.Name))
	}
	return p
}
