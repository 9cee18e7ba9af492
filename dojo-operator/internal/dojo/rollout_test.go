package dojo

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// deployment is one of generation 4 that wants three pods, has as many of each sort as given, and was seen as given.
func deployment(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	live := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 4},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 4, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3,
		},
	}
	for _, change := range changes {
		change(live)
	}
	return live
}

func pods(total, updated, ready int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Replicas, d.Status.UpdatedReplicas = total, updated
		d.Status.ReadyReplicas, d.Status.AvailableReplicas = ready, ready
	}
}

func observedAt(generation int64) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Status.ObservedGeneration = generation }
}

func says(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

// lacking gives a Deployment that has lacked a replica since noon minus the given time.
func lacking(ago time.Duration) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon.Add(-ago)),
		})
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		live *appsv1.Deployment
		want bool
	}{
		"all pods serve":              {deployment(), true},
		"seen in an earlier state":    {deployment(observedAt(3)), false},
		"old pods serve":              {deployment(pods(3, 2, 3)), false},
		"old pods left over":          {deployment(pods(4, 3, 3)), false},
		"one is not ready":            {deployment(pods(3, 3, 2)), false},
		"ready, not yet available":    {deployment(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }), false},
		"more wanted than there are":  {deployment(scaleTo(5)), false},
		"fewer wanted than there are": {deployment(scaleTo(1)), false},
		"nothing wanted":              {deployment(scaleTo(0), pods(0, 0, 0)), true},
		"nothing wanted, still there": {deployment(scaleTo(0), pods(1, 1, 0)), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := complete(c.live); got != c.want {
				t.Errorf("complete is %v", got)
			}
		})
	}
}

func TestRollout(t *testing.T) {
	t.Parallel()
	exceeded := says(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "")
	finished := says(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable", "")
	refused := says(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: pods")
	lost := unscheduled("a", corev1.PodReasonUnschedulable)
	young, grown := pod("b"), pod("c")
	young.CreationTimestamp = metav1.NewTime(noon.Add(-time.Second))
	grown.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Second)),
	}}
	cases := map[string]struct {
		dojo *corev1api.Dojo
		live *appsv1.Deployment
		pods []corev1.Pod
		want string
		says string // what the message must contain
	}{
		"complete":                           {live: deployment(), want: "settled"},
		"complete after all, refusal of old": {live: deployment(refused), want: "settled"},
		"starting":                           {live: deployment(pods(3, 3, 1)), want: "Waiting/RollingOut", says: "1 of 3 replicas are ready"},
		"starting, no node for one": {live: deployment(pods(3, 3, 1)), pods: []corev1.Pod{lost},
			want: "Waiting/RollingOut", says: "1 of 3 replicas are ready; pod a: no node takes it"},
		"a pod crashes": {live: deployment(pods(3, 3, 1)), pods: []corev1.Pod{pod("b", crashed(3))},
			want: "Terminal/CrashLoopBackOff", says: "1 of 3 replicas are ready; pod b: container dojo keeps ending"},
		"a pod of the old spec crashes, the new one has none yet": {live: deployment(pods(3, 0, 0)), pods: []corev1.Pod{pod("b", crashed(3))},
			want: "Waiting/RollingOut", says: "0 of 3 replicas are ready"},
		"a pod of the old spec crashes, the new one was not looked at": {live: deployment(pods(3, 3, 0), observedAt(3)), pods: []corev1.Pod{pod("b", crashed(3))},
			want: "Waiting/RollingOut", says: "0 of 3 replicas are ready"},
		"a pod of the old spec crashes, the new ones are refused": {live: deployment(pods(3, 0, 0), refused), pods: []corev1.Pod{pod("b", crashed(3))},
			want: "Terminal/PodsRefused", says: "exceeded quota: pods"},
		"a pod of the old spec crashes, the new one gets nowhere": {live: deployment(pods(3, 0, 0), exceeded), pods: []corev1.Pod{pod("b", crashed(3))},
			want: "Terminal/ProgressDeadlineExceeded", says: "with no progress for 1m30s"},
		"quota": {live: deployment(pods(1, 1, 1), refused), want: "Terminal/PodsRefused",
			says: "1 of 3 replicas are ready; pods are refused: exceeded quota: pods"},
		"quota of an earlier state": {live: deployment(pods(1, 1, 1), refused, observedAt(3)), want: "Waiting/RollingOut"},
		"quota no more": {live: deployment(pods(1, 1, 1), says(appsv1.DeploymentReplicaFailure, corev1.ConditionFalse, "", "")),
			want: "Waiting/RollingOut"},
		"quota before a crash": {live: deployment(pods(1, 1, 1), refused), pods: []corev1.Pod{pod("b", crashed(3))}, want: "Terminal/PodsRefused"},
		"no progress, nobody knows why": {live: deployment(pods(3, 3, 0), exceeded), want: "Terminal/ProgressDeadlineExceeded",
			says: "0 of 3 replicas are ready, with no progress for 1m30s"},
		"no progress, no node": {live: deployment(pods(3, 3, 0), exceeded), pods: []corev1.Pod{lost}, want: "Terminal/Unschedulable",
			says: "with no progress for 1m30s; pod a: no node takes it"},
		"no progress in an earlier state": {live: deployment(pods(3, 3, 0), exceeded, observedAt(3)), want: "Waiting/RollingOut"},
		"a replica was lost":              {live: deployment(pods(3, 3, 2), finished), want: "Waiting/ReplicasUnavailable", says: "2 of 3 replicas are ready"},
		"lost a while ago":                {live: deployment(pods(3, 3, 2), finished, lacking(80*time.Second)), want: "Waiting/ReplicasUnavailable"},
		"lost just now, by a Dojo that has been Progressing for long": {dojo: tokyo(since(time.Hour, conditions.Progressing, "RollingOut", 3)),
			live: deployment(pods(3, 3, 2), finished, lacking(time.Second)), want: "Waiting/ReplicasUnavailable"},
		"lacking for long, but a pod has just come": {live: deployment(pods(3, 3, 2), finished, lacking(time.Hour)),
			pods: []corev1.Pod{young}, want: "Waiting/ReplicasUnavailable"},
		"lacking for long, but a pod has just become ready": {live: deployment(pods(3, 3, 2), finished, lacking(time.Hour)),
			pods: []corev1.Pod{grown}, want: "Waiting/ReplicasUnavailable"},
		"lost for too long": {live: deployment(pods(3, 3, 2), finished, lacking(90*time.Second)), want: "Terminal/ReplicasUnavailable",
			says: "2 of 3 replicas are ready, for more than 1m30s. See `kubectl describe pods -l app.kubernetes.io/instance=tokyo`."},
		"lost, no node": {live: deployment(pods(3, 3, 2), finished, lacking(90*time.Second)), pods: []corev1.Pod{lost}, want: "Terminal/ReplicasUnavailable",
			says: "for more than 1m30s; pod a: no node takes it"},
		"paused": {live: deployment(pods(3, 1, 3), func(d *appsv1.Deployment) { d.Spec.Paused = true }), want: "Terminal/Paused",
			says: "`kubectl rollout resume deployment tokyo`"},
		"paused, nothing to do": {live: deployment(func(d *appsv1.Deployment) { d.Spec.Paused = true }), want: "settled"},
		"scaling up":            {live: deployment(scaleTo(5), finished), want: "Waiting/RollingOut", says: "3 of 5"},
		"scaling down": {live: deployment(scaleTo(1), finished, says(appsv1.DeploymentAvailable, corev1.ConditionTrue, "", "")),
			want: "Waiting/RollingOut", says: "3 of 1"},
		"pods too many":            {live: deployment(pods(4, 3, 3), finished), want: "Waiting/RollingOut", says: "3 of 3"},
		"lost in an earlier state": {live: deployment(pods(3, 3, 2), finished, lacking(time.Hour), observedAt(3)), want: "Waiting/RollingOut"},
		"scaling to nothing":       {live: deployment(scaleTo(0), pods(2, 2, 2), finished, observedAt(3)), want: "Waiting/RollingOut", says: "2 of 0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := c.dojo
			if d == nil {
				d = tokyo()
			}
			got := rollout(d, &observed{now: noon, deployment: c.live, pods: c.pods}, testConfig)
			if outcomeOf(got) != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
			if c.says != "" && !strings.Contains(got.Error(), c.says) {
				t.Errorf("%q does not say %q", got, c.says)
			}
		})
	}
}

func TestRolloutRetries(t *testing.T) {
	t.Parallel()
	live := deployment(pods(3, 3, 2), says(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable", ""), lacking(30*time.Second))
	got, ok := errors.AsType[*conditions.Waiting](rollout(tokyo(), &observed{now: noon, deployment: live}, testConfig))
	if !ok || got.Retry != 60*time.Second {
		t.Errorf("no watch tells of a deadline, so the pass must come back in 60s: %+v", got)
	}
}
