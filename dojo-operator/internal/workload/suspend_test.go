// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply/applytest"
)

func TestPodsOfASuspendedDojo(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	c := deployed(t, dojo)
	for _, step := range []struct {
		name     string
		suspend  bool
		held     bool
		replicas int32
		desired  int32
		budget   bool
	}{
		{"serving while the database is not ready", false, true, 3, 3, true},
		{"suspended", true, false, 0, 0, false},
		{"suspended, the database is not ready", true, true, 0, 0, false},
		{"resumed, the database is not ready", false, true, 0, 3, true},
		{"resumed", false, false, 3, 3, true},
	} {
		dojo.Spec.Suspend = step.suspend
		s := observe(t, c, dojo)
		s.HoldStart = step.held
		if got := s.Replicas(dojo); got != step.desired {
			t.Errorf("%s: %d replicas are desired", step.name, got)
		}
		c.Do(dojo, Plan(dojo, s, access, Hold{}, testConfig))
		if got := *deploymentOf(t, c).Spec.Replicas; got != step.replicas {
			t.Errorf("%s: the Deployment has %d replicas", step.name, got)
		}
		if got := budgetOf(t, c) != nil; got != step.budget {
			t.Errorf("%s: a budget exists: %t", step.name, got)
		}
		s = observe(t, c, dojo)
		s.HoldStart = step.held
		if again := Plan(dojo, s, access, Hold{}, testConfig); again.Apply != nil || again.Delete != nil {
			t.Errorf("%s: the next reconcile writes %v", step.name, dojotest.Kinds(again))
		}
	}
}

// An autoscaler does not scale from 0, so the application starts with the last size.
func TestAutoscaledPodsStartAtTheirLastSize(t *testing.T) {
	t.Parallel()
	between := func(most int32) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) {
			dojo.Spec.Autoscaling = &corev1api.Autoscaling{MinReplicas: new(int32(2)), MaxReplicas: most}
		}
	}
	dojo := dojotest.Dojo(between(9))
	c := deployed(t, dojo)
	for _, step := range []struct {
		name             string
		scaled           int32 // the size that the autoscaler sets
		suspend, stopped bool
		change           func(*corev1api.Dojo)
		desired, want    int32
	}{
		{name: "serving", desired: 3, want: 3},
		{name: "scaled", scaled: 7, desired: 7, want: 7},
		{name: "suspended", suspend: true},
		{name: "resumed", desired: 7, want: 7},
		{name: "suspended again, before the autoscaler has scaled", suspend: true},
		{name: "resumed again", desired: 7, want: 7},
		{name: "scaled again", scaled: 5, desired: 5, want: 5},
		{name: "stopped for an upgrade", stopped: true, desired: 5},
		{name: "stopped for an upgrade, and suspended", suspend: true, stopped: true},
		{name: "resumed with other bounds", change: between(4), desired: 4, want: 4},
		{name: "stopped by spec.replicas 0", change: dojotest.Replicas(0)},
		{name: "started by spec.replicas 3", change: dojotest.Replicas(3), desired: 3, want: 3},
	} {
		if step.scaled > 0 {
			applytest.Scale(t, c.Server, "kube-controller-manager", deploymentOf(t, c), scaleTo(step.scaled))
		}
		if step.change != nil {
			step.change(dojo)
		}
		dojo.Spec.Suspend = step.suspend
		s := observe(t, c, dojo)
		s.Stopped = step.stopped
		if got := s.Replicas(dojo); got != step.desired {
			t.Errorf("%s: %d replicas are desired", step.name, got)
		}
		c.Do(dojo, Plan(dojo, s, access, Hold{}, testConfig))
		if got := *deploymentOf(t, c).Spec.Replicas; got != step.want {
			t.Errorf("%s: the Deployment has %d replicas", step.name, got)
		}
		s = observe(t, c, dojo)
		s.Stopped = step.stopped
		if again := Plan(dojo, s, access, Hold{}, testConfig); again.Apply != nil || again.Delete != nil {
			t.Errorf("%s: the next reconcile writes %v", step.name, dojotest.Kinds(again))
		}
	}
}

func TestNoPodsAreStartedWithoutADatabase(t *testing.T) {
	t.Parallel()
	dojo, c := dojotest.Dojo(), newCluster(t)
	s := observe(t, c, dojo)
	s.HoldStart = true
	c.Do(dojo, Plan(dojo, s, access, Hold{}, testConfig))
	if got := *deploymentOf(t, c).Spec.Replicas; got != 0 {
		t.Errorf("the Deployment has %d replicas", got)
	}
}

func TestRunning(t *testing.T) {
	t.Parallel()
	pod := func(containers ...corev1.ContainerStatus) *corev1.Pod {
		p := podOf("tokyo-1", containers...)
		p.Labels = ownership.Labels(dojotest.Dojo(), ownership.Application)
		return &p
	}
	ended := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	other := pod(running)
	other.Labels = ownership.Labels(&corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Name: "kyoto"}}, ownership.Application)
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"of another Dojo": {other, true},
		"ended":           {pod(ended), true},
		"running":         {pod(ended, running), false},
		"not yet started": {pod(), false},
	} {
		dojo, cluster, status := dojotest.Dojo(), newCluster(t, c.pod.DeepCopy()), c.pod.Status
		applytest.EditStatus(t, cluster.Server, "kubelet", c.pod, func(pod *corev1.Pod) { pod.Status = status })
		if got, err := Running(t.Context(), cluster.Reader(dojo), dojo); err != nil || len(got) == 0 != c.want {
			t.Errorf("%s: %d run (%v)", name, len(got), err)
		}
	}
}
