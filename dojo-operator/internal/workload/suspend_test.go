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

// A Dojo is suspended and resumed: first without its database, then with it.
func TestPodsOfASuspendedDojo(t *testing.T) {
	t.Parallel()
	d := dojotest.Dojo()
	c := deployed(t, d)
	for _, step := range []struct {
		name     string
		suspend  bool
		held     bool
		replicas int32
		desired  int32
		budget   bool
	}{
		{"serving while the database is away", false, true, 3, 3, true},
		{"suspended", true, false, 0, 0, false},
		{"suspended, the database is away", true, true, 0, 0, false},
		{"resumed, the database is away", false, true, 0, 3, true},
		{"resumed", false, false, 3, 3, true},
	} {
		d.Spec.Suspend = step.suspend
		s := observe(t, c, d)
		s.Held = step.held
		if got := s.Replicas(d); got != step.desired {
			t.Errorf("%s: %d replicas are desired", step.name, got)
		}
		c.Do(d, Plan(d, s, access, false, testConfig))
		if got := *deploymentOf(t, c).Spec.Replicas; got != step.replicas {
			t.Errorf("%s: the Deployment has %d replicas", step.name, got)
		}
		if got := budgetOf(t, c) != nil; got != step.budget {
			t.Errorf("%s: a budget exists: %t", step.name, got)
		}
		s = observe(t, c, d)
		s.Held = step.held
		if again := Plan(d, s, access, false, testConfig); again.Apply != nil || again.Delete != nil {
			t.Errorf("%s: the next reconcile writes %v", step.name, dojotest.Kinds(again))
		}
	}
}

// A Deployment that has gone is made again without pods, while they would only fail.
func TestNoPodsAreStartedWithoutADatabase(t *testing.T) {
	t.Parallel()
	d, c := dojotest.Dojo(), newCluster(t)
	s := observe(t, c, d)
	s.Held = true
	c.Do(d, Plan(d, s, access, false, testConfig))
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
		"it has ended":    {pod(ended), true},
		"it runs":         {pod(ended, running), false},
		"not yet started": {pod(), false},
	} {
		d, cluster, status := dojotest.Dojo(), newCluster(t, c.pod.DeepCopy()), c.pod.Status
		applytest.EditStatus(t, cluster.Server, "kubelet", c.pod, func(pod *corev1.Pod) { pod.Status = status })
		if got, err := Running(t.Context(), cluster.Reader(d), d); err != nil || len(got) == 0 != c.want {
			t.Errorf("%s: %d run (%v)", name, len(got), err)
		}
	}
}
