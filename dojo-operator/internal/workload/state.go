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

// AutoscalerTarget is the name of the cache's index of HorizontalPodAutoscalers, by the name of the
// Deployment that they scale.
const AutoscalerTarget = "spec.scaleTargetRef.deployment"

// AddIndexes adds the index that Observe needs.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	target := func(o client.Object) []string {
		if target := o.(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef; target.Kind == "Deployment" {
			return []string{target.Name}
		}
		return nil
	}
	return indexer.IndexField(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, AutoscalerTarget, target)
}

// Strip leaves of a HorizontalPodAutoscaler what it scales.
func Strip(scaler *autoscalingv2.HorizontalPodAutoscaler) {
	target := scaler.Spec.ScaleTargetRef
	ownership.Strip(scaler)
	if !apply.Long(target.APIVersion, target.Kind, target.Name) {
		scaler.Spec.ScaleTargetRef = target
	}
}

// Config is what the operator's flags say.
type Config struct {
	// Image is the application's image where the spec names none.
	Image string
	// ProgressDeadline is how long a rollout may make no progress before the Dojo is Degraded; at
	// least a second.
	ProgressDeadline time.Duration
	// Users says as whom pods run.
	Users pods.Users
}

// State is what there is of the application. What does not exist is nil.
type State struct {
	Now        time.Time
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	Budget     *policyv1.PodDisruptionBudget
	// BudgetTakenBy is the Dojo whose Cluster has the name of this Dojo, so that CloudNativePG takes the
	// budget for its own; empty for none.
	BudgetTakenBy string
	Scaler        *autoscalingv2.HorizontalPodAutoscaler
	// Autoscaled is whether a HorizontalPodAutoscaler of the Deployment itself decides about its
	// replicas.
	Autoscaled bool
	// LastSize is how many pods an autoscaler had before the application was stopped, or has decided on since; 0
	// for none.
	LastSize int32
	// Held is whether no pod is to be started where none runs: the database is away.
	Held bool
	// Stopped is whether no pod is to run: the database is being upgraded.
	Stopped bool
	// Pods are read only while the Deployment is not complete, and while the Dojo is being deleted.
	Pods []corev1.Pod
	// Unchanged are the objects whose last apply changed nothing.
	Unchanged apply.Unchanged
}

// Observe reads the application.
func Observe(ctx context.Context, r apply.Reader, d *corev1api.Dojo, now time.Time) (s State, err error) {
	s = State{Now: now, Unchanged: r.Unchanged}
	name := client.ObjectKeyFromObject(d)
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
	err = s.observeRollout(ctx, r, d)
	return s, err
}

func (s *State) observeRollout(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (err error) {
	if d.DeletionTimestamp == nil {
		if s.Deployment == nil || ownership.Conflicts(d, s.Deployment) {
			return nil
		}
		var scalers autoscalingv2.HorizontalPodAutoscalerList
		err := r.Cache.List(ctx, &scalers, client.InNamespace(d.Namespace), client.MatchingFields{AutoscalerTarget: d.Name})
		if err != nil {
			return fmt.Errorf("list HorizontalPodAutoscalers: %w", err)
		}
		s.Autoscaled = scaledByOthers(d, s.Deployment, len(scalers.Items) > 0)
		s.LastSize = lastSize(d, s.Deployment, len(scalers.Items) > 0)
		if Complete(s.Deployment) {
			return nil
		}
	}
	s.Pods, err = pods.List(ctx, r, d, pods.OfApplication)
	return err
}

// Replicas is how many pods should run: none while the Dojo is suspended, what the live Deployment
// asks for where an autoscaler decides, what it had before the application was stopped, else what the spec says, the
// latter two within the bounds of its autoscaling.
func (s *State) Replicas(d *corev1api.Dojo) int32 {
	if d.Spec.Suspend {
		return 0
	}
	if s.Autoscaled && s.Deployment.Spec.Replicas != nil {
		return *s.Deployment.Spec.Replicas
	}
	return bounded(d, cmp.Or(s.LastSize, *d.Spec.Replicas))
}

// started is how many pods the Deployment may have now.
func (s *State) started(d *corev1api.Dojo) int32 {
	if s.Stopped {
		return 0
	}
	if live := s.Deployment; s.Held && (live == nil || ptr.Deref(live.Spec.Replicas, 1) == 0) {
		return 0
	}
	return s.Replicas(d)
}

// Running are the pods of the application that have not ended.
func Running(ctx context.Context, r apply.Reader, d *corev1api.Dojo) ([]corev1.Pod, error) {
	all, err := pods.List(ctx, r, d, pods.OfApplication)
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool { return pods.Ended(&pod) }), err
}

// Conflict is the issue with a foreign Deployment or Service of the Dojo's name, without which it
// cannot do.
func (s *State) Conflict(d *corev1api.Dojo) *conditions.Issue {
	return cmp.Or(ownership.NameConflict(d, "Deployment", s.Deployment), ownership.NameConflict(d, "Service", s.Service))
}
