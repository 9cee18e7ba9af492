// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Defaults of spec.autoscaling in the CRD.
const defaultMinReplicas, defaultCPUUtilization = 1, 80

// scalerFor targets the Deployment and not the Dojo, because a user may keep the Dojo's
// spec.replicas in Git.
func scalerFor(dojo *corev1api.Dojo) *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration {
	want := dojo.Spec.Autoscaling
	return autoscalingv2ac.HorizontalPodAutoscaler(dojo.Name, dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Application)).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
			WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().
				WithAPIVersion("apps/v1").WithKind("Deployment").WithName(dojo.Name)).
			WithMinReplicas(ptr.Deref(want.MinReplicas, defaultMinReplicas)).
			WithMaxReplicas(want.MaxReplicas).
			WithMetrics(autoscalingv2ac.MetricSpec().
				WithType(autoscalingv2.ResourceMetricSourceType).
				WithResource(autoscalingv2ac.ResourceMetricSource().
					WithName(corev1.ResourceCPU).
					WithTarget(autoscalingv2ac.MetricTarget().
						WithType(autoscalingv2.UtilizationMetricType).
						WithAverageUtilization(ptr.Deref(want.TargetCPUUtilization, defaultCPUUtilization))))))
}

func planScaler(dojo *corev1api.Dojo, s State, p *apply.Plan) {
	var desired *unstructured.Unstructured
	if dojo.Spec.Autoscaling != nil {
		desired = apply.Typed(scalerFor(dojo))
	}
	ownership.PlanOption(dojo, p, "HorizontalPodAutoscaler", s.Scaler, desired != nil, desired, s.Unchanged)
	p.Report(scalerIssue(dojo, s))
}

// metricsDeadline equals the default of
// kube-controller-manager --horizontal-pod-autoscaler-cpu-initialization-period.
const metricsDeadline = 5 * time.Minute

// inactive returns the condition ScalingActive if its status is False, and the time until
// scalerIssue reports the condition.
func inactive(dojo *corev1api.Dojo, s State) (*autoscalingv2.HorizontalPodAutoscalerCondition, time.Duration) {
	live, scaler := s.Deployment, s.Scaler
	if dojo.Spec.Autoscaling == nil || dojo.Spec.Suspend || dojo.DeletionTimestamp != nil ||
		scaler == nil || ownership.Conflicts(dojo, scaler) ||
		live == nil || ownership.Conflicts(dojo, live) || desiredOf(live) == 0 || !Complete(live) {
		return nil, 0
	}
	i := slices.IndexFunc(scaler.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse
	})
	if i < 0 {
		return nil, 0
	}
	c := &scaler.Status.Conditions[i]
	// Without pods, the condition is False too, so the wait begins at the earliest when the
	// Deployment becomes available.
	since := latest(c.LastTransitionTime.Time,
		deploymentCondition(live, appsv1.DeploymentAvailable).LastTransitionTime.Time)
	return c, min(metricsDeadline, metricsDeadline-s.Now.Sub(since))
}

func scalerIssue(dojo *corev1api.Dojo, s State) *conditions.Issue {
	c, remaining := inactive(dojo, s)
	if c == nil || remaining > 0 {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonAutoscalingInactive, "The HorizontalPodAutoscaler %s/%s cannot scale (%s)"+
		": %s. If `kubectl top pods -n %[1]s` shows no metrics, install metrics-server "+
		"(https://github.com/kubernetes-sigs/metrics-server). If spec.resources has no request of cpu, add one. Or remove "+
		"spec.autoscaling.",
		dojo.Namespace, dojo.Name, c.Reason, strings.TrimSuffix(cmp.Or(c.Message, "no message"), "."))
}

// AwaitsMetrics returns the time until missing metrics are reported. No event ends this wait.
func AwaitsMetrics(dojo *corev1api.Dojo, s State) time.Duration {
	_, remaining := inactive(dojo, s)
	return max(remaining, 0)
}

// lastSizeAnnotation has the replicas before a stop, because an autoscaler does not scale from 0.
const lastSizeAnnotation = "core.jutsu.com/last-size"

func lastSize(dojo *corev1api.Dojo, live *appsv1.Deployment, hasAutoscaler bool) int32 {
	if !hasAutoscaler || *dojo.Spec.Replicas == 0 {
		return 0
	}
	if n := ptr.Deref(live.Spec.Replicas, 1); n > 0 && replicasOfOthers(live) {
		return n
	}
	n, _ := strconv.ParseInt(live.Annotations[lastSizeAnnotation], 10, 32)
	return int32(max(n, 0))
}

// recordLastSize leaves an outdated annotation while the application runs, to save a write.
func recordLastSize(dojo *corev1api.Dojo, s State, desired *unstructured.Unstructured) {
	if s.LastSize == 0 {
		return
	}
	size := s.Deployment.Annotations[lastSizeAnnotation]
	if s.allowedReplicas(dojo) == 0 {
		size = strconv.Itoa(int(s.LastSize))
	}
	if size != "" {
		ownership.Annotate(desired, lastSizeAnnotation, size)
	}
}

// clampReplicas keeps 0, which stops the application.
func clampReplicas(dojo *corev1api.Dojo, n int32) int32 {
	scaling := dojo.Spec.Autoscaling
	if scaling == nil || n == 0 {
		return n
	}
	return min(max(n, ptr.Deref(scaling.MinReplicas, defaultMinReplicas)), scaling.MaxReplicas)
}
