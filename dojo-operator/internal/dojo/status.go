// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// countsInterval is how long a rollout must rest before a small change of counts alone is written.
// Pods that start change them many times within a second, and each would be a write that the next
// one makes pointless. Conditions never lag.
const countsInterval = 2 * time.Second

// status is how a Dojo is, from its state and from what came of its plan.
func status(d *corev1api.Dojo, s State, results apply.Results, issues []conditions.Issue) corev1api.DojoStatus {
	desired := s.Workload.Replicas(d)
	now := corev1api.DojoStatus{
		ObservedGeneration: d.Generation,
		Conditions:         slices.Clone(d.Status.Conditions),
		Selector:           metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: ownership.Selector(d)}),
		DesiredReplicas:    &desired,
		Database:           postgres.Status(d, s.Postgres),
		Hosts:              exposure.Status(d, s.Exposure),
		Alerts:             monitoring.Status(d, s.Monitoring),
		WaitingFor:         waits(d, s.Workload.Now, issues),
	}
	if live := s.Workload.Deployment; live != nil && !ownership.Conflicts(d, live) {
		now.Replicas, now.ReadyReplicas = live.Status.Replicas, live.Status.ReadyReplicas
		now.UpdatedReplicas, now.AvailableReplicas = live.Status.UpdatedReplicas, live.Status.AvailableReplicas
	}
	now.ReadyStatus = fmt.Sprintf("%d/%d", now.ReadyReplicas, desired)
	own := s.Credentials.Own != nil && s.Credentials.Conflict(d) == nil
	if own || results.Wrote(expectations.KeyOf("Secret", d.Namespace, credentials.Name(d))) {
		now.Credentials = &corev1api.LocalCredentials{Name: credentials.Name(d), Namespace: d.Namespace}
	}
	service := s.Workload.Service
	if service != nil && !ownership.Conflicts(d, service) ||
		results.Wrote(expectations.KeyOf("Service", d.Namespace, d.Name)) {
		now.Endpoint = workload.Endpoint(d)
	}
	available := availability(d, &now, postgres.WhyUnreachable(d, s.Postgres))
	conditions.Set(&now.Conditions, d.Generation, available, conditions.Worst(issues))
	setParts(d, s, issues, &now.Conditions)
	if d.Spec.Suspend {
		setSuspended(d, now.Conditions)
	}
	setPaused(d, &now.Conditions)
	return now
}

// unobserved is the status where nothing could be observed: the last known facts stand.
func unobserved(d *corev1api.Dojo, issues []conditions.Issue) corev1api.DojoStatus {
	now := *d.Status.DeepCopy()
	now.ObservedGeneration = d.Generation
	if now.DesiredReplicas == nil {
		now.DesiredReplicas = d.Spec.Replicas
	}
	unreachable := ""
	if was := meta.FindStatusCondition(now.Conditions, conditions.TypeAvailable); was != nil &&
		was.Reason == corev1api.ReasonDatabaseUnreachable {
		unreachable = was.Message
	}
	conditions.Set(&now.Conditions, d.Generation, availability(d, &now, unreachable), conditions.Worst(issues))
	setPaused(d, &now.Conditions)
	return now
}

// setSuspended says in what matches the spec of a suspended Dojo that nothing runs.
func setSuspended(d *corev1api.Dojo, all []metav1.Condition) {
	const wake = " Set spec.suspend to false to resume it."
	for kind, message := range map[string]string{
		conditions.TypeReady:             "The Dojo is suspended, as its spec asks." + wake,
		corev1api.ConditionDatabaseReady: "The Cluster is hibernated, and all data is kept." + wake,
	} {
		c := meta.FindStatusCondition(all, kind)
		hibernates := d.Spec.Postgres != nil && d.Spec.Postgres.Cluster != nil
		if c != nil && c.Status == metav1.ConditionTrue && (kind == conditions.TypeReady || hibernates) {
			c.Reason, c.Message = corev1api.ReasonSuspended, message
		}
	}
}

// setParts sets the conditions about parts that not every Dojo has.
func setParts(d *corev1api.Dojo, s State, issues []conditions.Issue, all *[]metav1.Condition) {
	if d.Spec.Postgres != nil {
		conditions.SetPart(all, d.Generation, corev1api.ConditionDatabaseReady, issues,
			corev1api.ReasonDatabaseReady, "The database matches the spec.")
	}
	if d.DeletionTimestamp != nil {
		return // what becomes of the data is all that counts
	}
	if backup := postgres.BackupCondition(d, s.Postgres); backup != nil {
		meta.SetStatusCondition(all, *backup)
	} else {
		meta.RemoveStatusCondition(all, corev1api.ConditionBackupSucceeded)
	}
	if d.Spec.Alerts != nil {
		conditions.SetPart(all, d.Generation, corev1api.ConditionAlertsReady, issues,
			corev1api.ReasonAlertsReady, fmt.Sprintf("Alerts show in the DiscordChannel %s.", monitoring.ChannelName(d)))
	} else {
		meta.RemoveStatusCondition(all, corev1api.ConditionAlertsReady)
	}
}

// waits are the objects that the Dojo waits for, each since it was first waited for.
func waits(d *corev1api.Dojo, now time.Time, issues []conditions.Issue) (all []corev1api.Wait) {
	for _, issue := range issues {
		known := slices.ContainsFunc(all, func(w corev1api.Wait) bool { return w.Object == issue.WaitingFor })
		if issue.WaitingFor != "" && !known {
			since := metav1.NewTime(d.WaitingSince(issue.WaitingFor, now))
			all = append(all, corev1api.Wait{Object: issue.WaitingFor, Since: since})
		}
	}
	return all
}

// availability says whether clients are served now, and if not, whether that is an outage. unreachable
// is why requests cannot reach the database, empty where they can.
func availability(d *corev1api.Dojo, s *corev1api.DojoStatus, unreachable string) conditions.Availability {
	was := meta.FindStatusCondition(s.Conditions, conditions.TypeAvailable)
	switch {
	case s.ReadyReplicas > 0 && unreachable != "":
		return conditions.Unusable(corev1api.ReasonDatabaseUnreachable, unreachable)
	case s.ReadyReplicas > 0:
		return conditions.Usable(corev1api.ReasonReplicasReady, "Ready replicas: "+s.ReadyStatus+".")
	case d.Spec.Suspend:
		return conditions.NothingDesired(corev1api.ReasonSuspended, "The Dojo is suspended, so nothing runs.")
	case *s.DesiredReplicas == 0:
		return conditions.NothingDesired(corev1api.ReasonScaledToZero, "No replicas are desired, so nothing runs.")
	case was == nil || was.Reason == corev1api.ReasonStarting:
		return conditions.Unusable(corev1api.ReasonStarting, "No replica has been ready yet.")
	case was.Reason == corev1api.ReasonScaledToZero || was.Reason == corev1api.ReasonScalingUp ||
		was.Reason == corev1api.ReasonSuspended:
		return conditions.Unusable(corev1api.ReasonScalingUp, "No replica has been ready since the Dojo was scaled to zero.")
	}
	if unreachable != "" { // which the readiness of the pods may depend on
		return conditions.Unusable(corev1api.ReasonDatabaseUnreachable, unreachable)
	}
	return conditions.Unusable(corev1api.ReasonNoReadyReplicas, "No replica is ready any more.")
}

// updateStatus writes the status where it differs, and says when to reconcile again.
func (r *Reconciler) updateStatus(
	ctx context.Context, d *corev1api.Dojo, now corev1api.DojoStatus, issues []conditions.Issue,
) (reconcile.Result, error) {
	result, err := conditions.Result(issues)
	if equality.Semantic.DeepEqual(d.Status, now) {
		return result, err
	}
	before := d.Status
	same := metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, ResourceVersion: d.ResourceVersion}
	was, after := &corev1api.Dojo{ObjectMeta: same, Status: before}, &corev1api.Dojo{ObjectMeta: same, Status: now}
	done := r.applier.Expectations.Writing(expectations.KeyOf("Dojo", d.Namespace, d.Name))
	// The version keeps it from being written to another Dojo of the same name: of a status the API
	// server does not compare the UID.
	failed := r.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(ownership.FieldOwner))
	version := ""
	if failed == nil {
		version = after.ResourceVersion
	}
	others := done(version)
	switch {
	case apierrors.IsNotFound(failed): // deleted meanwhile
		return result, err
	case conditions.Conflict(failed) && err != nil:
		return result, err // which brings the Dojo back
	case conditions.Conflict(failed):
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	case failed != nil:
		return reconcile.Result{}, errors.Join(err, fmt.Errorf("patch status: %w", failed))
	}
	r.recordTransition(ctx, d, before, now)
	if others && err == nil {
		result.RequeueAfter = apply.StaleRetry
	}
	return result, err
}

// recordTransition makes a change of the conditions known, in the log, as an event and in the metrics.
func (r *Reconciler) recordTransition(ctx context.Context, d *corev1api.Dojo, before, now corev1api.DojoStatus) {
	conditions.LogChange(ctx, "Dojo", before.Conditions, now.Conditions)
	if event := conditions.EventFor(before.Conditions, now.Conditions); event != nil {
		r.event(d, event.Type, event.Reason, event.Message)
	}
	if neverAvailable(before.Conditions) && meta.IsStatusConditionTrue(now.Conditions, conditions.TypeAvailable) {
		r.Metrics.Available(r.Clock.Since(d.CreationTimestamp.Time))
	}
	ready := func(s corev1api.DojoStatus) bool {
		return meta.IsStatusConditionTrue(s.Conditions, conditions.TypeReady)
	}
	if ready(now) && !ready(before) {
		r.Metrics.Ready(r.Clock.Since(notReadySince(d, before.Conditions)))
	}
}

func neverAvailable(was []metav1.Condition) bool {
	c := meta.FindStatusCondition(was, conditions.TypeAvailable)
	return c == nil || c.Reason == corev1api.ReasonStarting
}

// notReadySince is since when a Dojo has not been Ready: since its creation, or since it was Ready
// last.
func notReadySince(d *corev1api.Dojo, was []metav1.Condition) time.Time {
	if c := meta.FindStatusCondition(was, conditions.TypeReady); c != nil && !neverAvailable(was) {
		return c.LastTransitionTime.Time
	}
	return d.CreationTimestamp.Time
}

// deferral is how long a new status may wait: not at all unless only counts differ, and not by
// much, and the Deployment has moved within the interval.
func deferral(before, now corev1api.DojoStatus, s workload.State) time.Duration {
	live := s.Deployment
	if live == nil || live.Spec.Replicas == nil || // nothing is kept of a foreign Deployment
		equality.Semantic.DeepEqual(before, now) || !equality.Semantic.DeepEqual(withoutCounts(before), withoutCounts(now)) {
		return 0
	}
	if more := now.ReadyReplicas - before.ReadyReplicas; max(more, -more) > max(1, *live.Spec.Replicas/10) {
		return 0 // a long rollout of many pods is reported in tenths
	}
	age := s.Now.Sub(workload.LastMoved(live))
	if age < 0 || age > countsInterval { // negative: another machine's clock is ahead
		return 0
	}
	return countsInterval - age
}

// withoutCounts is a status without its counts, and without the messages that quote them.
func withoutCounts(s corev1api.DojoStatus) corev1api.DojoStatus {
	s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.AvailableReplicas, s.ReadyStatus = 0, 0, 0, 0, ""
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		s.Conditions[i].Message = ""
	}
	return s
}
