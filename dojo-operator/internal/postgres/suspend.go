// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Away reports whether the Dojo's own Cluster has no primary, or the application cannot reach it, so that
// a pod that is started would fail.
func Away(d *corev1api.Dojo, s State) bool {
	return d.Spec.Postgres != nil && d.Spec.Postgres.Cluster != nil && s.readable() &&
		(!cnpg.Up(s.Cluster) || cutOff(d, s))
}

// suspended is the way of a Dojo that is suspended and has a Cluster of its own: it is hibernated once
// nothing uses it, and nothing is done in Postgres. What does not exist yet is not made.
func (w *way) suspended() *conditions.Issue {
	d, live := w.dojo, w.state.Cluster
	if live == nil {
		return bootstrap.Lost(d, w.state.Database, w.state.Application.Connected)
	}
	if other := bootstrap.Mismatch(d, live); other != nil {
		return other
	}
	if tooLow := cluster.VersionTooLow(d, live, w.config.images()); tooLow != nil {
		return tooLow
	}
	hibernates := cnpg.Hibernates(live) || stopped(w.state) && len(w.state.ClusterUsers) == 0
	if !hibernates {
		w.Plan.Delete = append(w.Plan.Delete, w.state.Schema.StopIdle()...)
	}
	if b := d.BackupPolicy(); b != nil && w.state.Schedule != nil {
		w.Plan.Add(sync(w.state, w.state.Schedule, cluster.ScheduleFor(d, b)))
	}
	want := desiredCluster(d, w.state, corev1api.UpgradeWaiting, w.config)
	w.writeCluster(cluster.Hibernating(want, hibernates))
	var pooler *conditions.Issue
	if hibernates || w.state.Application.Stopped {
		pooler = w.stopPooler()
	}
	switch {
	case hibernates:
		return cmp.Or(cluster.Hibernation(d, live, w.state.Now, w.config.Deadline), pooler)
	case len(w.state.ClusterUsers) > 0:
		return cluster.KeepAwake(live.Name, w.state.ClusterUsers)
	}
	object := fmt.Sprintf("pods to end, before the Cluster %s/%s is hibernated", d.Namespace, live.Name)
	message := fmt.Sprintf("Waiting for the %s: %s", object, w.running())
	return conditions.WaitUntil(w.state.Now, d.WaitingSince(object, w.state.Now), w.config.Deadline,
		conditions.Progressing(corev1api.ReasonSuspending, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonSuspending,
			"%s. It has been like this for more than %s. See `kubectl describe pod` of it, and whether its node answers.",
			message, w.config.Deadline).For(object))
}

// stopped reports whether no pod of the application and no SQL is left, nor a Job whose SQL may begin.
func stopped(s State) bool {
	return s.Application.Stopped && len(s.Schema.Alive()) == 0 && len(s.Schema.StopIdle()) == 0
}

// running describes the pods of the application and of SQL that have yet to end.
func (w *way) running() string {
	left := slices.Concat(w.state.Application.Pods, w.state.Schema.Alive())
	return cmp.Or(pods.Describe(left), "Jobs are being deleted")
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
	if cnpg.HibernatedByUs(s.Cluster) {
		p.Add(sync(s, s.Cluster, desiredCluster(d, s, corev1api.UpgradeWaiting, cfg)))
		p.Report(conditions.Progressing(corev1api.ReasonTakingFinalBackup,
			"Waiting until the Cluster %s/%s, which is hibernated, runs again for the final backup.",
			d.Namespace, s.Cluster.Name))
	}
	return p
}
