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

// Defaults of spec.autoscaling, which the API server sets too.
const defaultMinReplicas, defaultCPUUtilization = 1, 80

// scalerFor is the HorizontalPodAutoscaler. It scales the Deployment and not the Dojo: spec.replicas is
// the user's, who may keep it in a repository.
func scalerFor(d *corev1api.Dojo) *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration {
	want := d.Spec.Autoscaling
	return autoscalingv2ac.HorizontalPodAutoscaler(d.Name, d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Application)).
		WithOwnerReferences(ownership.Reference(d)).
		WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
			WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().
				WithAPIVersion("apps/v1").WithKind("Deployment").WithName(d.Name)).
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

// planScaler makes the HorizontalPodAutoscaler where the spec asks for one.
func planScaler(d *corev1api.Dojo, s State, p *apply.Plan) {
	var desired *unstructured.Unstructured
	if d.Spec.Autoscaling != nil {
		desired = apply.Typed(scalerFor(d))
	}
	ownership.PlanOption(d, p, "HorizontalPodAutoscaler", s.Scaler, desired != nil, desired, s.Unchanged)
	p.Report(scalerIssue(d, s))
}

// metricsDeadline is how long an autoscaler may have no metrics of pods that are available. metrics-server
// has those of a new pod within a minute, and Kubernetes itself waits so long for its first ones
// (kube-controller-manager --horizontal-pod-autoscaler-cpu-initialization-period).
const metricsDeadline = 5 * time.Minute

// inactive is the condition by which the Dojo's autoscaler reports that it cannot scale, nil where it can,
// and how much longer that may take.
func inactive(d *corev1api.Dojo, s State) (*autoscalingv2.HorizontalPodAutoscalerCondition, time.Duration) {
	live, scaler := s.Deployment, s.Scaler
	if d.Spec.Autoscaling == nil || d.Spec.Suspend || d.DeletionTimestamp != nil ||
		scaler == nil || ownership.Conflicts(d, scaler) ||
		live == nil || ownership.Conflicts(d, live) || *live.Spec.Replicas == 0 || !Complete(live) {
		return nil, 0
	}
	i := slices.IndexFunc(scaler.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse
	})
	if i < 0 {
		return nil, 0
	}
	c := &scaler.Status.Conditions[i]
	// It is False for as long as there are no pods, too.
	since := later(c.LastTransitionTime.Time,
		deploymentCondition(live, appsv1.DeploymentAvailable).LastTransitionTime.Time)
	return c, min(metricsDeadline, metricsDeadline-s.Now.Sub(since))
}

// scalerIssue is that the autoscaler cannot scale, once it should.
func scalerIssue(d *corev1api.Dojo, s State) *conditions.Issue {
	c, left := inactive(d, s)
	if c == nil || left > 0 {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonAutoscalingInactive, "The HorizontalPodAutoscaler %s/%s cannot scale (%s)"+
		": %s. Install metrics-server (https://github.com/kubernetes-sigs/metrics-server) where `kubectl top pods` has no "+
		"metrics; spec.resources needs a request of cpu. Or remove spec.autoscaling.",
		d.Namespace, d.Name, c.Reason, strings.TrimSuffix(cmp.Or(c.Message, "no message"), "."))
}

// AwaitsMetrics is when to look again whether the autoscaler has metrics, since no event shows that it has
// lacked them for too long; zero where it has them, and where that is reported.
func AwaitsMetrics(d *corev1api.Dojo, s State) time.Duration {
	_, left := inactive(d, s)
	return max(left, 0)
}

// lastSizeAnnotation on the Deployment is how many pods an autoscaler had when the application was stopped: it does
// not scale from 0, and would begin at spec.replicas, which says nothing of the load.
const lastSizeAnnotation = "core.jutsu.com/last-size"

// lastSize is [State.LastSize].
func lastSize(d *corev1api.Dojo, live *appsv1.Deployment, hasAutoscaler bool) int32 {
	if !hasAutoscaler || *d.Spec.Replicas == 0 {
		return 0
	}
	if n := ptr.Deref(live.Spec.Replicas, 1); n > 0 && replicasOfOthers(live) {
		return n
	}
	n, _ := strconv.ParseInt(live.Annotations[lastSizeAnnotation], 10, 32)
	return int32(max(n, 0))
}

// remember records the last size while no pod is to run, and keeps the record until then: to take it away would be a
// write.
func remember(d *corev1api.Dojo, s State, desired *unstructured.Unstructured) {
	if s.LastSize == 0 {
		return
	}
	size := s.Deployment.Annotations[lastSizeAnnotation]
	if s.started(d) == 0 {
		size = strconv.Itoa(int(s.LastSize))
	}
	if size != "" {
		ownership.Annotate(desired, lastSizeAnnotation, size)
	}
}

// bounded is a number of pods within the bounds of the spec's autoscaling; 0 stops the application in any case.
func bounded(d *corev1api.Dojo, n int32) int32 {
	scaling := d.Spec.Autoscaling
	if scaling == nil || n == 0 {
		return n
	}
	return min(max(n, ptr.Deref(scaling.MinReplicas, defaultMinReplicas)), scaling.MaxReplicas)
}
