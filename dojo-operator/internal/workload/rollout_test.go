// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply/applytest"
)

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

func counts(total, updated, ready int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Replicas, d.Status.UpdatedReplicas = total, updated
		d.Status.ReadyReplicas, d.Status.AvailableReplicas = ready, ready
	}
}

func observedAt(generation int64) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Status.ObservedGeneration = generation }
}

func reports(
	kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string,
) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
		})
	}
}

func unavailable(ago time.Duration) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(dojotest.Noon.Add(-ago)),
		})
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	notAvailable := func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }
	cases := map[string]struct {
		live *appsv1.Deployment
		want bool
	}{
		"all pods serve":                       {deployment(), true},
		"the status has an earlier generation": {deployment(observedAt(3)), false},
		"an old pod still serves":              {deployment(counts(3, 2, 3)), false},
		"an extra old pod still exists":        {deployment(counts(4, 3, 3)), false},
		"one pod is not ready":                 {deployment(counts(3, 3, 2)), false},
		"one pod is ready, but not available":  {deployment(notAvailable), false},
		"more pods desired than exist":         {deployment(scaleTo(5)), false},
		"fewer pods desired than exist":        {deployment(scaleTo(1)), false},
		"no pods desired":                      {deployment(scaleTo(0), counts(0, 0, 0)), true},
		"no pods desired, one still runs":      {deployment(scaleTo(0), counts(1, 1, 0)), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Complete(c.live); got != c.want {
				t.Errorf("complete is %v", got)
			}
		})
	}
}

// A terminating pod may still have former credentials, although the Deployment does not count it.
func TestOutdated(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	ours := func(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
		live := deployment(changes...)
		live.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(dojo, corev1api.GroupVersion.WithKind("Dojo")),
		}
		live.Spec.Template.Annotations = map[string]string{ownership.RevisionAnnotation: "new"}
		return live
	}
	pod := func(name string, ending bool, changes ...func(*corev1.Pod)) client.Object {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "school", Name: name, Labels: ownership.Labels(dojo, ownership.Application),
			Annotations: map[string]string{ownership.RevisionAnnotation: "new"},
		}}
		if ending {
			pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: dojotest.Noon}, []string{"example.org/x"}
		}
		for _, change := range changes {
			change(pod)
		}
		return pod
	}
	former := func(pod *corev1.Pod) { pod.Annotations[ownership.RevisionAnnotation] = "old" }
	ends := []client.Object{pod("b", true), pod("a", true)}
	serve := []client.Object{pod("a", false, former)}
	left := ours(counts(3, 2, 3))
	without := ours()
	without.OwnerReferences = nil
	cases := map[string]struct {
		live     *appsv1.Deployment
		revision string
		pods     []client.Object
		want     string
	}{
		"complete":                                    {ours(), "new", []client.Object{pod("a", false)}, ""},
		"the Deployment has the former revision":      {ours(), "newer", nil, "the Deployment has yet to get the new credentials"},
		"no revision of credentials":                  {ours(), "", nil, "the Deployment has yet to get the new credentials"},
		"old pods serve":                              {left, "new", nil, "the rollout is not complete"},
		"pods are ending":                             {ours(), "new", ends, "the pod a and 1 more have not ended"},
		"the cache still shows an old pod as running": {ours(), "new", serve, "the pod a has not ended"},
		"an old pod was evicted":                      {ours(), "new", []client.Object{pod("evicted", false, former)}, ""},
		"no Deployment, a pod runs":                   {nil, "new", serve, ""},
		"no Deployment":                               {nil, "new", nil, ""},
		"no Deployment, pods end":                     {nil, "new", ends[1:], "the pod a has not ended"},
		"a Deployment of another owner":               {without, "newer", nil, ""},
		"no pods desired, no pod exists":              {ours(scaleTo(0), counts(0, 0, 0)), "new", nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, c.pods...)
			for _, o := range c.pods {
				pod := o.(*corev1.Pod)
				if pod.Name == "evicted" {
					failed := func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }
					applytest.EditStatus(t, cluster.Server, "kubelet", pod, failed)
				}
				if pod.DeletionTimestamp != nil {
					must(t, cluster.Delete(t.Context(), pod))
				}
			}
			got, err := Outdated(t.Context(), cluster.Reader(dojo), dojo, c.live, c.revision)
			must(t, err)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRollout(t *testing.T) {
	t.Parallel()
	exceeded := reports(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "")
	finished := reports(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable", "")
	refused := reports(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: pods")
	notRefused := reports(appsv1.DeploymentReplicaFailure, corev1.ConditionFalse, "", "")
	available := reports(appsv1.DeploymentAvailable, corev1.ConditionTrue, "", "")
	paused := func(d *appsv1.Deployment) { d.Spec.Paused = true }

	crashing, lost := podOf("b", crashed(3)), unscheduled("a")
	created, becameReady := podOf("b"), podOf("c")
	created.CreationTimestamp = metav1.NewTime(dojotest.Noon.Add(-time.Second))
	becameReady.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(dojotest.Noon.Add(-time.Second)),
	}}
	const rollingOut, unreplaced = "Progressing/RollingOut", "Progressing/ReplicasUnavailable"
	cases := map[string]struct {
		live *appsv1.Deployment
		pods []corev1.Pod
		want string
		says string // a part of the message
	}{
		"complete":                            {live: deployment()},
		"complete, a pod was refused earlier": {live: deployment(refused)},
		"starting":                            {live: deployment(counts(3, 3, 1)), want: rollingOut, says: "1 of 3 replicas are ready."},
		"starting, one pod cannot be scheduled": {
			live: deployment(counts(3, 3, 1)), pods: []corev1.Pod{lost},
			want: rollingOut, says: "1 of 3 replicas are ready; pod a: it cannot be scheduled",
		},
		"a pod crashes": {
			live: deployment(counts(3, 3, 1)), pods: []corev1.Pod{crashing},
			want: "Degraded/CrashLoopBackOff", says: "1 of 3 replicas are ready; pod b: container dojo keeps exiting",
		},
		"an old pod crashes, no new pod exists yet": {
			live: deployment(counts(3, 0, 0)), pods: []corev1.Pod{crashing},
			want: rollingOut, says: "0 of 3 replicas are ready.",
		},
		"an old pod crashes, the new spec was not observed": {
			live: deployment(counts(3, 3, 0), observedAt(3)), pods: []corev1.Pod{crashing},
			want: rollingOut, says: "0 of 3 replicas are ready.",
		},
		"an old pod crashes, new pods are refused": {
			live: deployment(counts(3, 0, 0), refused), pods: []corev1.Pod{crashing},
			want: "Degraded/ReplicaFailure", says: "exceeded quota: pods",
		},
		"an old pod crashes, the rollout makes no progress": {
			live: deployment(counts(3, 0, 0), exceeded), pods: []corev1.Pod{crashing},
			want: "Degraded/ProgressDeadlineExceeded", says: "with no progress for 1m30s.",
		},
		"a quota refuses pods": {
			live: deployment(counts(1, 1, 1), refused), want: "Degraded/ReplicaFailure",
			says: "1 of 3 replicas are ready; pods cannot be created: exceeded quota: pods",
		},
		"a quota refused pods of an earlier generation": {live: deployment(counts(1, 1, 1), refused, observedAt(3)), want: rollingOut},
		"a quota no longer refuses pods":                {live: deployment(counts(1, 1, 1), notRefused), want: rollingOut},
		"a quota refuses pods, and a pod crashes": {
			live: deployment(counts(1, 1, 1), refused), pods: []corev1.Pod{crashing}, want: "Degraded/ReplicaFailure",
		},
		"no progress, for no known reason": {
			live: deployment(counts(3, 3, 0), exceeded), want: "Degraded/ProgressDeadlineExceeded",
			says: "0 of 3 replicas are ready, with no progress for 1m30s.",
		},
		"no progress, a pod cannot be scheduled": {
			live: deployment(counts(3, 3, 0), exceeded), pods: []corev1.Pod{lost}, want: "Degraded/Unschedulable",
			says: "with no progress for 1m30s; pod a: it cannot be scheduled",
		},
		"no progress in an earlier generation": {
			live: deployment(counts(3, 3, 0), exceeded, observedAt(3)), want: rollingOut,
		},
		"a replica is lost": {
			live: deployment(counts(3, 3, 2), finished), want: unreplaced, says: "2 of 3 replicas are ready.",
		},
		"a replica is lost for a while": {live: deployment(counts(3, 3, 2), finished, unavailable(80*time.Second)), want: unreplaced},
		"unavailable for long, but a pod was just created": {
			live: deployment(counts(3, 3, 2), finished, unavailable(time.Hour)), pods: []corev1.Pod{created}, want: unreplaced,
		},
		"unavailable for long, but a pod just became ready": {
			live: deployment(counts(3, 3, 2), finished, unavailable(time.Hour)), pods: []corev1.Pod{becameReady},
			want: unreplaced,
		},
		"a replica is lost for too long": {
			live: deployment(counts(3, 3, 2), finished, unavailable(90*time.Second)), want: "Degraded/ReplicasUnavailable",
			says: "2 of 3 replicas are ready, for more than 1m30s. " +
				"See `kubectl describe pods -n school -l app.kubernetes.io/instance=tokyo`.",
		},
		"a replica is lost for too long, a pod cannot be scheduled": {
			live: deployment(counts(3, 3, 2), finished, unavailable(90*time.Second)), pods: []corev1.Pod{lost},
			want: "Degraded/ReplicasUnavailable", says: "for more than 1m30s; pod a: it cannot be scheduled",
		},
		"paused": {
			live: deployment(counts(3, 1, 3), paused), want: "Degraded/DeploymentPaused",
			says: "`kubectl rollout resume deployment tokyo -n school`",
		},
		"paused, nothing to do": {live: deployment(paused)},
		"scaling up":            {live: deployment(scaleTo(5), finished), want: rollingOut, says: "3 of 5"},
		"scaling down":          {live: deployment(scaleTo(1), finished, available), want: rollingOut, says: "3 of 1"},
		"too many pods":         {live: deployment(counts(4, 3, 3), finished), want: rollingOut, says: "3 of 3"},
		"a replica is lost in an earlier generation": {
			live: deployment(counts(3, 3, 2), finished, unavailable(time.Hour), observedAt(3)), want: rollingOut,
		},
		"scaling to zero": {
			live: deployment(scaleTo(0), counts(2, 2, 2), finished, observedAt(3)), want: rollingOut, says: "2 of 0",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := State{Now: dojotest.Noon, Deployment: c.live, Pods: c.pods}
			got := rolloutIssue(dojotest.Dojo(), s, testConfig)
			reason := ""
			if got != nil {
				reason = got.Type + "/" + got.Reason
			}
			if reason != c.want {
				t.Fatalf("got %v, want %s", got, c.want)
			}
			if got != nil && !strings.Contains(got.Message, c.says) {
				t.Errorf("%q does not contain %q", got.Message, c.says)
			}
		})
	}
}

// No watch reports a passed deadline, so the operator requeues the Dojo.
func TestRolloutIsCheckedAgain(t *testing.T) {
	t.Parallel()
	finished := reports(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable", "")
	for name, c := range map[string]struct {
		live *appsv1.Deployment
		pods []corev1.Pod
		want time.Duration
	}{
		"a lost replica": {deployment(counts(3, 3, 2), finished, unavailable(30*time.Second)), nil, 60 * time.Second},
		"a crash":        {deployment(counts(3, 3, 2)), []corev1.Pod{podOf("b", crashed(3))}, pods.BackoffReset},
		"a crash, rollback after 60 s": {deployment(counts(3, 3, 0), finished, unavailable(30*time.Second)),
			[]corev1.Pod{podOf("b", crashed(3))}, 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			dojo := dojotest.Dojo()
			dojo.Spec.Rollout = &corev1api.Rollout{Rollback: corev1api.RollbackAutomatic}
			got := rolloutIssue(dojo, State{Now: dojotest.Noon, Deployment: c.live, Pods: c.pods}, testConfig)
			if got.RequeueAfter != c.want {
				t.Errorf("the next check is after %s", got.RequeueAfter)
			}
		})
	}
}
