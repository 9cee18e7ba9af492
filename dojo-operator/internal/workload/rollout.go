// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// The API has no constants for these reasons of the condition Progressing.
const (
	deadlineExceeded = "ProgressDeadlineExceeded"
	rolloutFinished  = "NewReplicaSetAvailable"
)

// desiredOf returns spec.replicas, or 1 if the cache lacks the field: the cache strips the spec if
// a client has removed managedFields.
func desiredOf(live *appsv1.Deployment) int32 { return ptr.Deref(live.Spec.Replicas, 1) }

// Complete reports whether the Deployment has exactly its desired pods, all current and available.
func Complete(live *appsv1.Deployment) bool {
	desired, s := desiredOf(live), live.Status
	return s.ObservedGeneration >= live.Generation &&
		s.Replicas == desired && s.UpdatedReplicas == desired && s.AvailableReplicas == desired
}

type phase struct {
	generation       int64
	complete, serves bool
	tenths           int32 // tenths of the desired pods that are ready; 0 for up to ten pods
	progress         string
	failure          string
}

func phaseOf(live *appsv1.Deployment) phase {
	p := phase{generation: live.Generation, complete: Complete(live), serves: live.Status.ReadyReplicas > 0}
	if desired := desiredOf(live); desired > 10 {
		p.tenths = live.Status.ReadyReplicas * 10 / desired
	}
	if live.Status.ObservedGeneration < live.Generation {
		return p
	}
	if reason := deploymentCondition(live, appsv1.DeploymentProgressing).Reason; reason == deadlineExceeded ||
		reason == rolloutFinished {
		p.progress = reason
	}
	if failure := deploymentCondition(live, appsv1.DeploymentReplicaFailure); failure.Status == corev1.ConditionTrue {
		p.failure = failure.Reason + ": " + failure.Message
	}
	return p
}

// CountsAlone reports whether an update changes only pod counts during a rollout. It is false if
// the first pod becomes ready. With more than ten pods, it is also false if a further tenth of the
// pods becomes ready.
func CountsAlone(before, after *appsv1.Deployment) bool {
	return before.ResourceVersion != after.ResourceVersion && !Complete(after) && phaseOf(before) == phaseOf(after) &&
		before.DeletionTimestamp.Equal(after.DeletionTimestamp) &&
		equality.Semantic.DeepEqual(before.Labels, after.Labels) &&
		equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) &&
		before.Annotations[apply.ShapeAnnotation] == after.Annotations[apply.ShapeAnnotation] &&
		apply.OwnedFields(ownership.FieldOwner, before).Equals(apply.OwnedFields(ownership.FieldOwner, after))
}

func deploymentCondition(live *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range live.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

// nextCheck returns the time until the next reconcile of a Deployment with a failing container. No
// event shows that the container has recovered, or that an image without a deadline of Kubernetes
// must be rolled back.
func nextCheck(dojo *corev1api.Dojo, s State, cfg Config) time.Duration {
	if left := timeLeft(dojo, s, cfg); dojo.RollsBack() && withoutDeadline(s.Deployment) && left > 0 {
		return min(left, pods.BackoffReset)
	}
	return pods.BackoffReset
}

func rolloutIssue(dojo *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	live := s.Deployment
	if Complete(live) {
		return nil
	}
	progress := deploymentCondition(live, appsv1.DeploymentProgressing)
	current := live.Status.ObservedGeneration >= live.Generation
	var trouble pods.Trouble
	if current && live.Status.UpdatedReplicas > 0 { // else the pods are of a former spec
		trouble = pods.Worst(s.Now, s.Pods)
	}
	count := readyCount(live, desiredOf(live))
	switch refused := refusedPods(live, count); {
	case current && refused != nil:
		return refused
	case live.Spec.Paused:
		return conditions.Degraded(corev1api.ReasonDeploymentPaused,
			"%s; the Deployment is paused. Resume it with `kubectl rollout resume deployment %s -n %s`.",
			count, dojo.Name, dojo.Namespace)
	case trouble.Persistent:
		return conditions.Degraded(trouble.Reason, "%s", sentence(count, trouble)).After(nextCheck(dojo, s, cfg))
	case current && progress.Reason == deadlineExceeded:
		return conditions.Degraded(cmp.Or(trouble.Reason, corev1api.ReasonProgressDeadlineExceeded),
			"%s See `kubectl describe pods -n %s -l %s=%s`.",
			sentence(fmt.Sprintf("%s, with no progress for %s", count, deadline(dojo, cfg)), trouble),
			dojo.Namespace, ownership.InstanceLabel, dojo.Name)
	case current && progress.Reason == rolloutFinished:
		return conditions.WaitUntil(s.Now, unavailableSince(s), deadline(dojo, cfg),
			conditions.Progressing(incompleteReason(live), "%s", sentence(count, trouble)),
			conditions.Degraded(corev1api.ReasonReplicasUnavailable, "%s See `kubectl describe pods -n %s -l %s=%s`.",
				sentence(fmt.Sprintf("%s, for more than %s", count, deadline(dojo, cfg)), trouble),
				dojo.Namespace, ownership.InstanceLabel, dojo.Name))
	}
	return conditions.Progressing(corev1api.ReasonRollingOut, "%s", sentence(count, trouble))
}

// unavailableSince returns when Available or the pods last changed. If maxUnavailable is 0 or no
// pods are known, it returns the present time while Available is not False. A maxUnavailable above
// 0 lets Available stay True although replicas are missing.
func unavailableSince(s State) time.Time {
	c := deploymentCondition(s.Deployment, appsv1.DeploymentAvailable)
	tolerant := toleratesMissing(s.Deployment) && len(s.Pods) > 0
	if c.Status != corev1.ConditionFalse && !tolerant {
		return s.Now
	}
	since := c.LastTransitionTime.Time
	for i := range s.Pods {
		since = latest(since, s.Pods[i].CreationTimestamp.Time)
		for _, ready := range s.Pods[i].Status.Conditions {
			if ready.Type == corev1.PodReady && (tolerant || ready.Status == corev1.ConditionTrue) {
				since = latest(since, ready.LastTransitionTime.Time)
			}
		}
	}
	return since
}

func toleratesMissing(live *appsv1.Deployment) bool {
	rolling := live.Spec.Strategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil {
		return false
	}
	most := *rolling.MaxUnavailable
	return most.IntValue() > 0 || most.Type == intstr.String && most.StrVal != "0%"
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// incompleteReason compares counts, because conditions do not distinguish scaling from lost pods.
func incompleteReason(live *appsv1.Deployment) string {
	if desired := desiredOf(live); live.Status.Replicas != desired || live.Status.UpdatedReplicas != desired {
		return corev1api.ReasonRollingOut
	}
	return corev1api.ReasonReplicasUnavailable
}

func readyCount(live *appsv1.Deployment, desired int32) string {
	var ready int32
	if live != nil {
		ready = live.Status.ReadyReplicas
	}
	return fmt.Sprintf("%d of %d replicas are ready", ready, desired)
}

func sentence(count string, trouble pods.Trouble) string {
	if trouble.Message != "" {
		count += "; " + trouble.Message
	}
	return strings.TrimSuffix(count, ".") + "."
}

// LastMoved returns when the rollout last made progress.
func LastMoved(live *appsv1.Deployment) time.Time {
	return deploymentCondition(live, appsv1.DeploymentProgressing).LastUpdateTime.Time
}

// Outdated says why pods may have credentials of another revision; "" if no pod can have them.
func Outdated(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, live *appsv1.Deployment, revision string,
) (string, error) {
	ours := live != nil && !ownership.Conflicts(dojo, live)
	if ours {
		switch {
		case live.Spec.Template.Annotations[ownership.RevisionAnnotation] != revision:
			return "the Deployment has yet to get the new credentials", nil
		case !Complete(live):
			return "the rollout is not complete", nil
		}
	}
	all, err := pods.List(ctx, r, dojo, pods.OfApplication)
	var ending []string
	for i := range all {
		// The cache may still show terminating pods of a complete Deployment as running
		// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment).
		former := ours && all[i].Annotations[ownership.RevisionAnnotation] != revision && !pods.Ended(&all[i])
		if all[i].DeletionTimestamp != nil || former {
			ending = append(ending, all[i].Name)
		}
	}
	if len(ending) == 0 {
		return "", err
	}
	slices.Sort(ending)
	if len(ending) > 1 {
		return fmt.Sprintf("the pod %s and %d more have not ended", ending[0], len(ending)-1), err
	}
	return fmt.Sprintf("the pod %s has not ended", ending[0]), err
}
