package dojo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// settleTime is how long a rollout must rest before a small change of counts alone is told. Pods that start change them many times
// within a second, and each would be a write that the next one makes pointless. Verdicts never lag.
const settleTime = 2 * time.Second

// status says how the Dojo is, from what was seen, what was to be done and how it ended. Where nothing could be seen (nil), the
// last known facts stand.
func status(d *corev1api.Dojo, seen *observed, todo *steps, outcome error) corev1api.DojoStatus {
	s := *d.Status.DeepCopy()
	wanted := *d.Spec.Replicas
	if seen != nil {
		s, wanted = facts(d, seen, todo, outcome), todo.replicas
	}
	s.ObservedGeneration = d.Generation
	conditions.Set(&s.Conditions, d.Generation, availability(&s, wanted), outcome)
	if seen != nil && todo != nil {
		tellParts(d, seen, todo, &s.Conditions)
	}
	return s
}

// tellParts sets the conditions about parts of a Dojo that not every Dojo has.
func tellParts(d *corev1api.Dojo, seen *observed, todo *steps, all *[]metav1.Condition) {
	if d.Spec.Postgres != nil {
		setPart(d, all, partReady(todo, corev1api.ConditionDatabaseReady, todo.database, corev1api.ReasonDatabaseReady, "The database is as the spec says."))
	}
	if d.DeletionTimestamp != nil {
		return // what becomes of the data is all that counts
	}
	if backup := backupCondition(d, seen); backup != nil {
		setPart(d, all, *backup)
	} else {
		meta.RemoveStatusCondition(all, corev1api.ConditionBackupSucceeded)
	}
	if d.Spec.Alerts != nil {
		setPart(d, all, partReady(todo, corev1api.ConditionAlertsReady, todo.alerts, corev1api.ReasonAlertsReady,
			fmt.Sprintf("Alarms show in the DiscordChannel %s.", channelName(d))))
	} else {
		meta.RemoveStatusCondition(all, corev1api.ConditionAlertsReady)
	}
}

func setPart(d *corev1api.Dojo, all *[]metav1.Condition, c metav1.Condition) {
	c.ObservedGeneration = d.Generation
	meta.SetStatusCondition(all, c)
}

// partReady tells how a part of the Dojo is. Where one of its objects could not be written, that is what keeps it from being ready.
func partReady(todo *steps, kind string, verdict error, reason, message string) metav1.Condition {
	for _, c := range todo.apply {
		if c.part == kind && c.failed != nil {
			verdict = c.failed
			break
		}
	}
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: conditions.ReasonRetrying}
	if waiting, ok := errors.AsType[*conditions.Waiting](verdict); ok {
		c.Reason, c.Message = waiting.Reason, waiting.Message
	} else if terminal, ok := errors.AsType[*conditions.Terminal](verdict); ok {
		c.Reason, c.Message = terminal.Reason, terminal.Message
	} else if verdict != nil {
		c.Message = "Its objects cannot be written; trying again."
	} else {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reason, message
	}
	return c
}

// availability says whether clients are served now, and if not, whether that is an outage.
func availability(s *corev1api.DojoStatus, wanted int32) conditions.Availability {
	was := meta.FindStatusCondition(s.Conditions, conditions.Available)
	switch {
	case s.ReadyReplicas > 0:
		return conditions.Usable(corev1api.ReasonReplicasReady, "Ready replicas: "+s.ReadyStatus+".")
	case wanted == 0:
		return conditions.NothingAsked(corev1api.ReasonScaledToZero, "No replicas are wanted, so nothing runs.")
	case was == nil || was.Reason == corev1api.ReasonStarting:
		return conditions.Unusable(corev1api.ReasonStarting, "No replica has been ready yet.")
	case was.Reason == corev1api.ReasonScaledToZero || was.Reason == corev1api.ReasonScalingUp:
		return conditions.Unusable(corev1api.ReasonScalingUp, "No replica is ready yet since none was wanted.")
	}
	return conditions.Unusable(corev1api.ReasonNoReadyReplicas, "No replica is ready any more.")
}

// facts is the status without its verdicts.
func facts(d *corev1api.Dojo, seen *observed, todo *steps, outcome error) corev1api.DojoStatus {
	s := corev1api.DojoStatus{
		Conditions: slices.Clone(d.Status.Conditions),
		Selector:   metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector(d)}),
	}
	if seen.deployment != nil && !taken(d, seen.deployment) {
		live := seen.deployment.Status
		s.Replicas, s.ReadyReplicas = live.Replicas, live.ReadyReplicas
		s.UpdatedReplicas, s.AvailableReplicas = live.UpdatedReplicas, live.AvailableReplicas
	}
	s.ReadyStatus = fmt.Sprintf("%d/%d", s.ReadyReplicas, todo.replicas)
	if d.Spec.Postgres != nil {
		s.Database = &corev1api.DatabaseStatus{ClusterName: clusterName(d), Name: postgresName(d), Host: postgresHost(d)}
	}
	s.Alerts = alertsStatus(d, seen)
	if todo.leaves(kindSecret, credentialsName(d), seen.own != nil && !taken(d, seen.own), outcome) {
		s.Credentials = &corev1api.LocalCredentials{Name: credentialsName(d), Namespace: d.Namespace}
	}
	if todo.leaves(kindService, d.Name, seen.service != nil && !taken(d, seen.service), outcome) {
		s.Endpoint = endpoint(d)
	}
	return s
}

// lastWanted is how many replicas the last pass wanted: the spec's, unless an autoscaler of the Deployment decides.
func lastWanted(d *corev1api.Dojo) int32 {
	var ready, wanted int32
	if _, err := fmt.Sscanf(d.Status.ReadyStatus, "%d/%d", &ready, &wanted); err != nil {
		return *d.Spec.Replicas // there was none
	}
	return wanted
}

// leaves reports whether a child is there once the steps have ended as they did.
func (s *steps) leaves(kind, name string, before bool, outcome error) bool {
	return before || s.endedAsPlanned(outcome) && slices.ContainsFunc(s.apply, func(c *child) bool { return c.kind == kind && c.name == name })
}

// endedAsPlanned reports whether every step could be carried out.
func (s *steps) endedAsPlanned(outcome error) bool {
	return errors.Is(outcome, s.verdict) || errors.Is(outcome, s.unmoved)
}

// report writes the status where it differs and tells what a person should know. It returns when to come back for a status
// that it has put off.
func (r *Reconciler) report(ctx context.Context, d *corev1api.Dojo, seen *observed, now corev1api.DojoStatus) (time.Duration, error) {
	before := d.Status
	if equality.Semantic.DeepEqual(before, now) {
		return 0, nil
	}
	if seen != nil {
		if wait := postponed(before, now, seen.deployment, seen.now); wait > 0 {
			return wait, nil
		}
	}
	after := d.DeepCopy()
	after.Status = now
	// The version keeps it from being told of another Dojo of the same name: of a status the API server does not compare the UID.
	err := r.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(d, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil // deleted meanwhile: there is nobody left to tell
	case conditions.LostRace(err):
		return staleRetry, nil
	case err != nil:
		return 0, fmt.Errorf("patch status: %w", err)
	}
	r.written.Wrote(keyOf("Dojo", d.Namespace, d.Name), after.ResourceVersion)
	r.announce(d, before, now)
	return 0, nil
}

// announce makes a change of the status known beside it: as an event and in the metrics.
func (r *Reconciler) announce(d *corev1api.Dojo, before, now corev1api.DojoStatus) {
	if event := conditions.EventFor(before.Conditions, now.Conditions); event != nil {
		r.tell(d, event.Type, event.Reason, event.Message)
	}
	if neverAvailable(before.Conditions) && meta.IsStatusConditionTrue(now.Conditions, conditions.Available) {
		r.Metrics.available(r.Clock.Since(d.CreationTimestamp.Time))
	}
	if meta.IsStatusConditionTrue(now.Conditions, conditions.Ready) && !meta.IsStatusConditionTrue(before.Conditions, conditions.Ready) {
		r.Metrics.ready(r.Clock.Since(unreadySince(d, before.Conditions)))
	}
}

func neverAvailable(was []metav1.Condition) bool {
	c := meta.FindStatusCondition(was, conditions.Available)
	return c == nil || c.Reason == corev1api.ReasonStarting
}

// unreadySince is since when a Dojo that is not Ready has been waited for: since its creation, or since it was Ready last.
func unreadySince(d *corev1api.Dojo, was []metav1.Condition) time.Time {
	if c := meta.FindStatusCondition(was, conditions.Ready); c != nil && !neverAvailable(was) {
		return c.LastTransitionTime.Time
	}
	return d.CreationTimestamp.Time
}

func (r *Reconciler) tell(d *corev1api.Dojo, kind, reason, message string) {
	const most = 1024 // what the API server accepts
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most-3], "") + "..."
	}
	r.Events.Eventf(d, nil, kind, reason, "Reconcile", "%s", message)
}

// postponed says how long a new status may wait: not at all unless only counts differ, and not by much, and the Deployment has
// moved within the settle time.
func postponed(before, now corev1api.DojoStatus, live *appsv1.Deployment, at time.Time) time.Duration {
	if live == nil || live.Spec.Replicas == nil || !equality.Semantic.DeepEqual(uncounted(before), uncounted(now)) {
		return 0 // of a stranger's Deployment nothing is kept
	}
	if more := now.ReadyReplicas - before.ReadyReplicas; max(more, -more) > max(1, *live.Spec.Replicas/10) {
		return 0 // a long rollout of many pods is told in tenths
	}
	age := at.Sub(deploymentCondition(live, appsv1.DeploymentProgressing).LastUpdateTime.Time)
	if age < 0 || age > settleTime { // negative: another machine's clock is ahead
		return 0
	}
	return settleTime - age
}

// uncounted is a status without its counts, and without the messages that quote them.
func uncounted(s corev1api.DojoStatus) corev1api.DojoStatus {
	s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.AvailableReplicas, s.ReadyStatus = 0, 0, 0, 0, ""
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		s.Conditions[i].Message = ""
	}
	return s
}
