// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/libs/conditions"
)

func TestReplicasWithinTheBoundsOfAutoscaling(t *testing.T) {
	t.Parallel()
	between := func(least *int32, most int32) *corev1api.Autoscaling {
		return &corev1api.Autoscaling{MinReplicas: least, MaxReplicas: most}
	}
	for name, test := range map[string]struct {
		replicas int32
		scaling  *corev1api.Autoscaling
		want     int32
	}{
		"no autoscaling":    {3, nil, 3},
		"within the bounds": {3, between(new(int32(2)), 5), 3},
		"too few":           {1, between(new(int32(2)), 5), 2},
		"too many":          {9, between(new(int32(2)), 5), 5},
		"stopped":           {0, between(new(int32(2)), 5), 0},
		"no minReplicas":    {1, between(nil, 5), 1},
		"equal bounds":      {7, between(new(int32(4)), 4), 4},
	} {
		dojo := dojotest.Dojo(dojotest.Replicas(test.replicas))
		dojo.Spec.Autoscaling = test.scaling
		if got := clampReplicas(dojo, test.replicas); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestAutoscalerWithoutMetrics(t *testing.T) {
	t.Parallel()
	autoscaled := func(dojo *corev1api.Dojo) { dojo.Spec.Autoscaling = &corev1api.Autoscaling{MaxReplicas: 5} }
	dojo := dojotest.Dojo(autoscaled)
	active := func(status corev1.ConditionStatus, ago time.Duration) autoscalingv2.HorizontalPodAutoscalerCondition {
		return autoscalingv2.HorizontalPodAutoscalerCondition{
			Type: autoscalingv2.ScalingActive, Status: status, Reason: "FailedGetResourceMetric",
			Message: "no metrics known for pods.", LastTransitionTime: metav1.NewTime(dojotest.Noon.Add(-ago)),
		}
	}
	const no, yes, late = corev1.ConditionFalse, corev1.ConditionTrue, metricsDeadline
	const degraded = "Degraded/AutoscalingInactive"
	for name, c := range map[string]struct {
		condition autoscalingv2.HorizontalPodAutoscalerCondition
		available time.Duration // how long ago the Deployment became available
		change    func(*corev1api.Dojo, *State)
		want      string
		again     time.Duration
	}{
		"no metrics yet":           {active(no, time.Minute), time.Hour, nil, "", late - time.Minute},
		"no metrics for long":      {active(no, late), time.Hour, nil, degraded, 0},
		"no metrics, pods are new": {active(no, time.Hour), time.Minute, nil, "", late - time.Minute},
		"a clock that is ahead":    {active(no, -time.Hour), time.Hour, nil, "", late},
		"metrics exist":            {active(yes, time.Hour), time.Hour, nil, "", 0},
		"no condition":             {autoscalingv2.HorizontalPodAutoscalerCondition{}, time.Hour, nil, "", 0},
		"no autoscaling":           {active(no, late), time.Hour, func(dojo *corev1api.Dojo, _ *State) { dojo.Spec.Autoscaling = nil }, "", 0},
		"suspended":                {active(no, late), time.Hour, func(dojo *corev1api.Dojo, _ *State) { dojo.Spec.Suspend = true }, "", 0},
		"stopped":                  {active(no, late), time.Hour, func(_ *corev1api.Dojo, s *State) { s.Deployment.Spec.Replicas = new(int32(0)) }, "", 0},
		"pods are missing":         {active(no, late), time.Hour, func(_ *corev1api.Dojo, s *State) { s.Deployment.Status.Replicas = 1 }, "", 0},
		"no Deployment":            {active(no, late), time.Hour, func(_ *corev1api.Dojo, s *State) { s.Deployment = nil }, "", 0},
		"a foreign autoscaler":     {active(no, late), time.Hour, func(_ *corev1api.Dojo, s *State) { s.Scaler.OwnerReferences = nil }, "", 0},
		"a deleted autoscaler":     {active(no, late), time.Hour, func(_ *corev1api.Dojo, s *State) { s.Scaler = nil }, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojo.DeepCopy()
			cluster := deployed(t, dojo)
			s := observe(t, cluster, dojo)
			s.Scaler.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
				{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionFalse}, c.condition,
			}
			s.Deployment.Status.Conditions = append(s.Deployment.Status.Conditions, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(dojotest.Noon.Add(-c.available)),
			})
			if c.change != nil {
				c.change(dojo, &s)
			}
			issue := scalerIssue(dojo, s)
			if got := dojotest.Worst(conditions.Of(asError(issue))); got != c.want {
				t.Errorf("is %q, want %q", got, c.want)
			}
			if got := AwaitsMetrics(dojo, s); got != c.again {
				t.Errorf("the next check is after %s, want %s", got, c.again)
			}
			if issue != nil && !strings.Contains(issue.Message, "(FailedGetResourceMetric): no metrics known for pods. If `kubectl top pods -n ") {
				t.Error(issue.Message)
			}
		})
	}
}

func asError(issue *conditions.Issue) error {
	if issue == nil {
		return nil
	}
	return issue
}

// The startup probe has the path of the liveness probe. Omitted options keep their defaults.
func TestProbesOfTheSpec(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	dojo.Spec.Probes = &corev1api.Probes{
		Startup:   &corev1api.Probe{FailureThreshold: new(int32(5))},
		Liveness:  &corev1api.Probe{Path: "/alive"},
		Readiness: &corev1api.Probe{TimeoutSeconds: new(int32(4)), PeriodSeconds: new(int32(8))},
	}
	c := containerFor(dojo, access, testConfig.Image)
	type probed struct {
		Path                       string
		Period, Timeout, Threshold int32
	}
	got := map[string]probed{}
	for name, p := range map[string]struct {
		path                       *string
		period, timeout, threshold *int32
	}{
		"startup": {c.StartupProbe.HTTPGet.Path, c.StartupProbe.PeriodSeconds, c.StartupProbe.TimeoutSeconds,
			c.StartupProbe.FailureThreshold},
		"liveness": {c.LivenessProbe.HTTPGet.Path, c.LivenessProbe.PeriodSeconds, c.LivenessProbe.TimeoutSeconds,
			c.LivenessProbe.FailureThreshold},
		"readiness": {c.ReadinessProbe.HTTPGet.Path, c.ReadinessProbe.PeriodSeconds, c.ReadinessProbe.TimeoutSeconds,
			c.ReadinessProbe.FailureThreshold},
	} {
		got[name] = probed{*p.path, *p.period, *p.timeout, *p.threshold}
	}
	for name, want := range map[string]probed{
		"startup": {"/alive", 1, 2, 5}, "liveness": {"/alive", 10, 2, 3}, "readiness": {readinessPath, 8, 4, 2},
	} {
		if got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
}
