// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"jutsu.com/operators/dojo-operator/internal/release"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// countsInterval delays status writes that change only pod counts.
const countsInterval = 2 * time.Second

func status(dojo *corev1api.Dojo, s State, results apply.Results, issues []conditions.Issue) corev1api.DojoStatus {
	desired := s.Workload.Replicas(dojo)
	next := corev1api.DojoStatus{
		ObservedGeneration: dojo.Generation,
		Conditions:         slices.Clone(dojo.Status.Conditions),
		Selector:           metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: ownership.Selector(dojo)}),
		DesiredReplicas:    &desired,
		Rollout:            workload.Status(dojo, s.Workload),
		Database:           postgres.Status(dojo, s.Postgres),
		Release:            release.Status(dojo, s.Release),
		Hosts:              exposure.Status(dojo, s.Exposure),
		Alerts:             monitoring.Status(dojo, s.Monitoring),
		WaitingFor:         awaitedObjects(dojo, s.Workload.Now, issues),
	}
	if live := s.Workload.Deployment; live != nil && !ownership.Conflicts(dojo, live) {
		next.Replicas, next.ReadyReplicas = live.Status.Replicas, live.Status.ReadyReplicas
		next.UpdatedReplicas, next.AvailableReplicas = live.Status.UpdatedReplicas, live.Status.AvailableReplicas
	}
	next.ReadyStatus = fmt.Sprintf("%d/%d", next.ReadyReplicas, desired)
	own := s.Credentials.Own != nil && s.Credentials.Conflict(dojo) == nil
	if own || results.Wrote(expectations.KeyOf("Secret", dojo.Namespace, credentials.Name(dojo))) {
		next.Credentials = &corev1api.LocalCredentials{Name: credentials.Name(dojo), Namespace: dojo.Namespace}
	}
	service := s.Workload.Service
	if service != nil && !ownership.Conflicts(dojo, service) ||
		results.Wrote(expectations.KeyOf("Service", dojo.Namespace, dojo.Name)) {
		next.Endpoint = workload.Endpoint(dojo)
	}
	available := availability(dojo, &next, postgres.WhyUnreachable(dojo, s.Postgres))
	conditions.Set(&next.Conditions, dojo.Generation, available, conditions.Worst(issues))
	setParts(dojo, s, issues, &next.Conditions)
	if dojo.Spec.Suspend && dojo.DeletionTimestamp == nil {
		setSuspended(dojo, s, next.Conditions)
	}
	setPaused(dojo, &next.Conditions)
	return next
}

// lastKnownStatus returns the former status with the issues of a failed observation.
func lastKnownStatus(dojo *corev1api.Dojo, issues []conditions.Issue) corev1api.DojoStatus {
	next := *dojo.Status.DeepCopy()
	next.ObservedGeneration = dojo.Generation
	if next.DesiredReplicas == nil {
		next.DesiredReplicas = dojo.Spec.Replicas
	}
	unreachable := ""
	if was := meta.FindStatusCondition(next.Conditions, conditions.TypeAvailable); was != nil &&
		was.Reason == corev1api.ReasonDatabaseUnreachable {
		unreachable = was.Message
	}
	conditions.Set(&next.Conditions, dojo.Generation, availability(dojo, &next, unreachable), conditions.Worst(issues))
	setPaused(dojo, &next.Conditions)
	return next
}

func wake(dojo *corev1api.Dojo) string {
	return fmt.Sprintf("To resume: `kubectl dojo resume %s -n %s`, or set spec.suspend to false.",
		dojo.Name, dojo.Namespace)
}

func setSuspended(dojo *corev1api.Dojo, s State, all []metav1.Condition) {
	database := "The Cluster is hibernated, and all data is kept. "
	if s.Postgres.Cluster.Live == nil {
		database = "The Cluster will be created when the Dojo is resumed. "
	}
	for kind, message := range map[string]string{
		conditions.TypeReady:             "The Dojo is suspended, as its spec asks. " + wake(dojo),
		corev1api.ConditionDatabaseReady: database + wake(dojo),
	} {
		c := meta.FindStatusCondition(all, kind)
		hibernates := dojo.Spec.Postgres != nil && dojo.Spec.Postgres.Cluster != nil
		if c != nil && c.Status == metav1.ConditionTrue && (kind == conditions.TypeReady || hibernates) {
			c.Reason, c.Message = corev1api.ReasonSuspended, message
		}
	}
}

func setParts(dojo *corev1api.Dojo, s State, issues []conditions.Issue, all *[]metav1.Condition) {
	if dojo.Spec.Postgres != nil {
		conditions.SetPart(all, dojo.Generation, corev1api.ConditionDatabaseReady, issues,
			corev1api.ReasonDatabaseReady, "The database matches the spec.")
	}
	if dojo.DeletionTimestamp != nil {
		return // a deleted Dojo needs no BackupSucceeded and no AlertsReady
	}
	if backup := postgres.BackupCondition(dojo, s.Postgres); backup != nil {
		meta.SetStatusCondition(all, *backup)
	} else {
		meta.RemoveStatusCondition(all, corev1api.ConditionBackupSucceeded)
	}
	if dojo.Spec.Alerts != nil {
		conditions.SetPart(all, dojo.Generation, corev1api.ConditionAlertsReady, issues,
			corev1api.ReasonAlertsReady, fmt.Sprintf("Alertmanager is configured "+
				"to post alerts to the DiscordChannel %s.", monitoring.ChannelName(dojo)))
	} else {
		meta.RemoveStatusCondition(all, corev1api.ConditionAlertsReady)
	}
}

// awaitedObjects keeps the start of each wait, so a restart of the operator does not extend a wait.
func awaitedObjects(dojo *corev1api.Dojo, now time.Time, issues []conditions.Issue) (all []corev1api.Wait) {
	for _, issue := range issues {
		known := slices.ContainsFunc(all, func(w corev1api.Wait) bool { return w.Object == issue.WaitingFor })
		if issue.WaitingFor != "" && !known {
			since := metav1.NewTime(dojo.WaitingSince(issue.WaitingFor, now))
			all = append(all, corev1api.Wait{Object: issue.WaitingFor, Since: since})
		}
	}
	return all
}

func availability(dojo *corev1api.Dojo, s *corev1api.DojoStatus, unreachable string) conditions.Availability {
	was := meta.FindStatusCondition(s.Conditions, conditions.TypeAvailable)
	switch {
	case s.ReadyReplicas > 0 && unreachable != "":
		return conditions.Unusable(corev1api.ReasonDatabaseUnreachable, unreachable)
	case s.ReadyReplicas > 0:
		return conditions.Usable(corev1api.ReasonReplicasReady, "Ready replicas: "+s.ReadyStatus+".")
	case dojo.Spec.Suspend:
		return conditions.NothingDesired(corev1api.ReasonSuspended,
			"The Dojo is suspended, so the application is not available. "+wake(dojo))
	case *s.DesiredReplicas == 0:
		return conditions.NothingDesired(corev1api.ReasonScaledToZero,
			"No replicas are desired, so the application is not available.")
	case was == nil || was.Reason == corev1api.ReasonStarting:
		return conditions.Unusable(corev1api.ReasonStarting, "No replica has been ready yet.")
	case was.Reason == corev1api.ReasonScaledToZero || was.Reason == corev1api.ReasonScalingUp ||
		was.Reason == corev1api.ReasonSuspended:
		return conditions.Unusable(corev1api.ReasonScalingUp,
			"The Dojo was scaled up from zero, or resumed. No replica is ready yet.")
	}
	if unreachable != "" { // the pods may be unready only because of the database
		return conditions.Unusable(corev1api.ReasonDatabaseUnreachable, unreachable)
	}
	return conditions.Unusable(corev1api.ReasonNoReadyReplicas, "No replica is ready any more.")
}

func (r *Reconciler) updateStatus(
	ctx context.Context, dojo *corev1api.Dojo, next corev1api.DojoStatus, issues []conditions.Issue,
) (reconcile.Result, error) {
	result, err := conditions.Result(issues)
	if equality.Semantic.DeepEqual(dojo.Status, next) {
		return result, err
	}
	before := dojo.Status
	same := metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name, ResourceVersion: dojo.ResourceVersion}
	was, after := &corev1api.Dojo{ObjectMeta: same, Status: before}, &corev1api.Dojo{ObjectMeta: same, Status: next}
	done := r.applier.Expectations.Writing(expectations.KeyOf("Dojo", dojo.Namespace, dojo.Name))
	// The resource version makes the API server refuse this status for a new Dojo of the same name.
	failed := r.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(ownership.FieldOwner))
	version := ""
	if failed == nil {
		version = after.ResourceVersion
	}
	others := done(version)
	switch {
	case apierrors.IsNotFound(failed): // the Dojo was deleted meanwhile
		return result, err
	case conditions.Conflict(failed) && err != nil:
		return result, err // err requeues the Dojo
	case conditions.Conflict(failed):
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	case failed != nil:
		return reconcile.Result{}, errors.Join(err, fmt.Errorf("patch status: %w", failed))
	}
	r.recordTransition(ctx, dojo, before, next)
	if others && err == nil {
		result.RequeueAfter = apply.StaleRetry
	}
	return result, err
}

func (r *Reconciler) recordTransition(ctx context.Context, dojo *corev1api.Dojo, before, after corev1api.DojoStatus) {
	conditions.LogChange(ctx, "Dojo", before.Conditions, after.Conditions)
	if event := conditions.EventFor(before.Conditions, after.Conditions); event != nil {
		r.event(dojo, event.Type, event.Reason, event.Message)
	}
	if text := rollbackMessage(after); text != "" && text != rollbackMessage(before) {
		r.event(dojo, corev1.EventTypeNormal, "NotMigratedDown", text)
	}
	if neverAvailable(before.Conditions) && meta.IsStatusConditionTrue(after.Conditions, conditions.TypeAvailable) {
		r.Metrics.Available(r.Clock.Since(dojo.CreationTimestamp.Time))
	}
	ready := func(s corev1api.DojoStatus) bool {
		return meta.IsStatusConditionTrue(s.Conditions, conditions.TypeReady)
	}
	if ready(after) && !ready(before) {
		r.Metrics.Ready(r.Clock.Since(notReadySince(dojo, before.Conditions)))
	}
}

func rollbackMessage(s corev1api.DojoStatus) string {
	if s.Release == nil {
		return ""
	}
	return s.Release.Message
}

func neverAvailable(was []metav1.Condition) bool {
	c := meta.FindStatusCondition(was, conditions.TypeAvailable)
	return c == nil || c.Reason == corev1api.ReasonStarting
}

func notReadySince(dojo *corev1api.Dojo, was []metav1.Condition) time.Time {
	if c := meta.FindStatusCondition(was, conditions.TypeReady); c != nil && !neverAvailable(was) {
		return c.LastTransitionTime.Time
	}
	return dojo.CreationTimestamp.Time
}

// deferral returns the delay of the status write. The delay is 0 unless the only changes are small
// and recent changes of pod counts.
func deferral(before, next corev1api.DojoStatus, s workload.State) time.Duration {
	live := s.Deployment
	if live == nil || live.Spec.Replicas == nil || // the cache strips the replicas of another owner's Deployment
		equality.Semantic.DeepEqual(before, next) ||
		!equality.Semantic.DeepEqual(withoutCounts(before), withoutCounts(next)) {
		return 0
	}
	if more := next.ReadyReplicas - before.ReadyReplicas; max(more, -more) > max(1, *live.Spec.Replicas/10) {
		return 0 // write the status after each tenth of a long rollout
	}
	age := s.Now.Sub(workload.LastMoved(live))
	if age < 0 || age > countsInterval { // negative if another machine's clock is ahead
		return 0
	}
	return countsInterval - age
}

// withoutCounts also removes the messages of conditions, because messages may quote counts.
func withoutCounts(s corev1api.DojoStatus) corev1api.DojoStatus {
	s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.AvailableReplicas, s.ReadyStatus = 0, 0, 0, 0, ""
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		s.Conditions[i].Message = ""
	}
	return s
}
