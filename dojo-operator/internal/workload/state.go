// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// AutoscalerTarget is a cache index of autoscalers by the name of their Deployment.
const AutoscalerTarget = "spec.scaleTargetRef.deployment"

// AddIndexes adds the index AutoscalerTarget.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	target := func(o client.Object) []string {
		if target := o.(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef; target.Kind == "Deployment" {
			return []string{target.Name}
		}
		return nil
	}
	return indexer.IndexField(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, AutoscalerTarget, target)
}

// Strip keeps only the identity and the target of another owner's HorizontalPodAutoscaler.
func Strip(scaler *autoscalingv2.HorizontalPodAutoscaler) {
	target := scaler.Spec.ScaleTargetRef
	ownership.Strip(scaler)
	if !apply.Long(target.APIVersion, target.Kind, target.Name) {
		scaler.Spec.ScaleTargetRef = target
	}
}

// Config has the operator's flags. Image is the default image of the application.
type Config struct {
	Image string
	// ProgressDeadline limits a rollout without progress. It is at least a second.
	ProgressDeadline time.Duration
	Users            pods.Users
}

// State has the observed objects. A missing object is nil.
type State struct {
	Now        time.Time
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	Budget     *policyv1.PodDisruptionBudget
	// BudgetTakenBy is another Dojo with a Cluster that needs the PodDisruptionBudget's name.
	BudgetTakenBy string
	Scaler        *autoscalingv2.HorizontalPodAutoscaler
	// Autoscaled is true if an autoscaler decides the Deployment's replicas.
	Autoscaled bool
	// LastSize is the last number of pods above 0 that an autoscaler has set, or 0 if unknown.
	LastSize int32
	// HoldStart keeps a new or stopped Deployment at 0 replicas: the database cannot be reached.
	HoldStart bool
	// Stopped is true if no pod may run, because Postgres is being upgraded.
	Stopped bool
	// Pods is empty if the Deployment is missing or complete, unless the Dojo is being deleted.
	Pods      []corev1.Pod
	Unchanged apply.Unchanged
}

// Observe reads the Deployment, the Service, the PodDisruptionBudget and the autoscaler of a Dojo.
func Observe(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, now time.Time) (s State, err error) {
	s = State{Now: now, Unchanged: r.Unchanged}
	name := client.ObjectKeyFromObject(dojo)
	if s.Deployment, err = apply.Get(ctx, r, "Deployment", name, &appsv1.Deployment{}); err != nil {
		return s, err
	}
	if s.Service, err = apply.Get(ctx, r, "Service", name, &corev1.Service{}); err != nil {
		return s, err
	}
	if s.Budget, err = apply.Get(ctx, r, "PodDisruptionBudget", name, &policyv1.PodDisruptionBudget{}); err != nil {
		return s, err
	}
	s.Scaler, err = apply.Get(ctx, r, "HorizontalPodAutoscaler", name, &autoscalingv2.HorizontalPodAutoscaler{})
	if err != nil {
		return s, err
	}
	err = s.observeRollout(ctx, r, dojo)
	return s, err
}

func (s *State) observeRollout(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (err error) {
	if dojo.DeletionTimestamp == nil {
		if s.Deployment == nil || ownership.Conflicts(dojo, s.Deployment) {
			return nil
		}
		var scalers autoscalingv2.HorizontalPodAutoscalerList
		err := r.Cache.List(ctx, &scalers, client.InNamespace(dojo.Namespace),
			client.MatchingFields{AutoscalerTarget: dojo.Name})
		if err != nil {
			return fmt.Errorf("list HorizontalPodAutoscalers: %w", err)
		}
		s.Autoscaled = scaledByOthers(dojo, s.Deployment, len(scalers.Items) > 0)
		s.LastSize = lastSize(dojo, s.Deployment, len(scalers.Items) > 0)
		if Complete(s.Deployment) {
			return nil
		}
	}
	s.Pods, err = pods.List(ctx, r, dojo, pods.OfApplication)
	return err
}

// Replicas returns 0 if suspended; else the autoscaler's number, or the last size or spec.replicas
// within the limits of spec.autoscaling.
func (s *State) Replicas(dojo *corev1api.Dojo) int32 {
	if dojo.Spec.Suspend {
		return 0
	}
	if s.Autoscaled && s.Deployment.Spec.Replicas != nil {
		return *s.Deployment.Spec.Replicas
	}
	return clampReplicas(dojo, cmp.Or(s.LastSize, *dojo.Spec.Replicas))
}

func (s *State) allowedReplicas(dojo *corev1api.Dojo) int32 {
	if s.Stopped {
		return 0
	}
	if live := s.Deployment; s.HoldStart && (live == nil || ptr.Deref(live.Spec.Replicas, 1) == 0) {
		return 0
	}
	return s.Replicas(dojo)
}

// Running lists the application's pods that have not ended.
func Running(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) ([]corev1.Pod, error) {
	all, err := pods.List(ctx, r, dojo, pods.OfApplication)
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool { return pods.Ended(&pod) }), err
}

// Conflict returns an issue if the Dojo does not control the Deployment or Service with its name,
// or if this object is too large.
func (s *State) Conflict(dojo *corev1api.Dojo) *conditions.Issue {
	return cmp.Or(ownership.NameConflict(dojo, "Deployment", s.Deployment),
		ownership.NameConflict(dojo, "Service", s.Service))
}
