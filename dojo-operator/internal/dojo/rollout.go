package dojo

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// These are the reasons of a Deployment's Progressing condition that we act on; the API has no constants for them.
const (
	deadlineExceeded = "ProgressDeadlineExceeded"
	rolloutFinished  = "NewReplicaSetAvailable"
)

// complete reports whether every wanted pod runs the current revision and serves, and no other pod is left.
func complete(live *appsv1.Deployment) bool {
	wanted, s := *live.Spec.Replicas, live.Status
	return s.ObservedGeneration >= live.Generation &&
		s.Replicas == wanted && s.UpdatedReplicas == wanted && s.AvailableReplicas == wanted
}

func deploymentCondition(live *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range live.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

// rollout says what keeps the pods from being as the spec says, or nil.
func rollout(d *corev1api.Dojo, seen *observed, cfg Config) error {
	live := seen.deployment
	if complete(live) {
		return nil
	}
	progress := deploymentCondition(live, appsv1.DeploymentProgressing)
	current := live.Status.ObservedGeneration >= live.Generation
	var trouble trouble
	if current && live.Status.UpdatedReplicas > 0 { // pods of an earlier spec say nothing about this one
		trouble = worst(seen.now, seen.pods)
	}
	count := readyCount(live, *live.Spec.Replicas)
	switch failure := deploymentCondition(live, appsv1.DeploymentReplicaFailure); {
	case current && failure.Status == corev1.ConditionTrue:
		return &conditions.Terminal{
			Reason:  corev1api.ReasonPodsRefused,
			Message: fmt.Sprintf("%s; pods are refused: %s", count, failure.Message),
		}
	case live.Spec.Paused:
		return &conditions.Terminal{
			Reason:  corev1api.ReasonPaused,
			Message: fmt.Sprintf("%s; the Deployment is paused. `kubectl rollout resume deployment %s` lets it go on.", count, d.Name),
		}
	case trouble.persistent:
		// Nothing tells that a container has run for long enough.
		return &conditions.Terminal{Reason: trouble.reason, Message: count + "; " + trouble.message, Retry: backoffReset}
	case current && progress.Reason == deadlineExceeded:
		return stuck(count, trouble, cfg)
	case current && progress.Reason == rolloutFinished:
		return impatient(seen.now, lackingSince(live, seen), cfg.ProgressDeadline,
			&conditions.Waiting{Reason: unfinished(live), Message: join(count, trouble)},
			&conditions.Terminal{
				Reason: corev1api.ReasonReplicasUnavailable,
				Message: join(fmt.Sprintf("%s, for more than %s", count, cfg.ProgressDeadline), trouble) +
					fmt.Sprintf(". See `kubectl describe pods -l %s=%s`.", instanceLabel, d.Name),
			})
	}
	return &conditions.Waiting{Reason: corev1api.ReasonRollingOut, Message: join(count, trouble)}
}

// lackingSince is when the first replica went missing, or a pod last came or became ready since: a scale that takes long but moves
// is not stuck. With maxUnavailable 0 the Deployment is Available only while no replica is missing.
func lackingSince(live *appsv1.Deployment, seen *observed) time.Time {
	c := deploymentCondition(live, appsv1.DeploymentAvailable)
	if c.Status != corev1.ConditionFalse {
		return seen.now
	}
	since := c.LastTransitionTime.Time
	for i := range seen.pods {
		since = later(since, seen.pods[i].CreationTimestamp.Time)
		for _, ready := range seen.pods[i].Status.Conditions {
			if ready.Type == corev1.PodReady && ready.Status == corev1.ConditionTrue {
				since = later(since, ready.LastTransitionTime.Time)
			}
		}
	}
	return since
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// unfinished tells a scale that is under way from pods that were there and are lost. The Deployment calls both a finished rollout.
func unfinished(live *appsv1.Deployment) string {
	if wanted := *live.Spec.Replicas; live.Status.Replicas != wanted || live.Status.UpdatedReplicas != wanted {
		return corev1api.ReasonRollingOut
	}
	return corev1api.ReasonReplicasUnavailable
}

func readyCount(live *appsv1.Deployment, wanted int32) string {
	var ready int32
	if live != nil {
		ready = live.Status.ReadyReplicas
	}
	return fmt.Sprintf("%d of %d replicas are ready", ready, wanted)
}

func stuck(count string, trouble trouble, cfg Config) error {
	reason := corev1api.ReasonProgressDeadlineExceeded
	if trouble.reason != "" {
		reason = trouble.reason
	}
	return &conditions.Terminal{
		Reason:  reason,
		Message: join(fmt.Sprintf("%s, with no progress for %s", count, cfg.ProgressDeadline), trouble),
	}
}

func join(count string, trouble trouble) string {
	if trouble.message == "" {
		return count
	}
	return count + "; " + trouble.message
}
