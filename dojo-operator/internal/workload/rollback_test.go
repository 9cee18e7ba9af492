// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/libs/apply/applytest"
)

func rollsBack(dojo *corev1api.Dojo) {
	dojo.Spec.Rollout = &corev1api.Rollout{Rollback: corev1api.RollbackAutomatic}
}

func ofImage(name string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.Image = name }
}

type stage struct {
	t    *testing.T
	c    *dojotest.Cluster
	dojo *corev1api.Dojo
}

func served(t *testing.T, changes ...func(*corev1api.Dojo)) *stage {
	t.Helper()
	dojo := dojotest.Dojo(append([]func(*corev1api.Dojo){rollsBack, ofImage("dojo:1")}, changes...)...)
	st := &stage{t, deployed(t, dojo), dojo}
	st.reconcile()
	return st
}

func (st *stage) reconcile() (written []string, issue string) {
	st.t.Helper()
	s := observe(st.t, st.c, st.dojo)
	plan := Plan(st.dojo, s, access, Hold{}, testConfig)
	st.c.Do(st.dojo, plan)
	st.dojo.Status.Rollout = Status(st.dojo, s)
	return dojotest.Kinds(plan), dojotest.Worst(plan.Issues)
}

func (st *stage) roll(name string) {
	st.t.Helper()
	st.dojo.Spec.Image = name
	if written, _ := st.reconcile(); len(written) != 1 || st.image() != name {
		st.t.Fatalf("wrote %v, runs %s", written, st.image())
	}
}

func (st *stage) fail() {
	st.t.Helper()
	applytest.EditStatus(st.t, st.c.Server, "kube-controller-manager", deploymentOf(st.t, st.c),
		func(d *appsv1.Deployment) {
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: 4, UpdatedReplicas: 1, ReadyReplicas: 3, AvailableReplicas: 3,
				Conditions: []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: deadlineExceeded,
				}},
			}
		})
}

func (st *stage) image() string { return image(deploymentOf(st.t, st.c)) }

func (st *stage) expect(name string, want *corev1api.RolloutStatus, issue string) {
	st.t.Helper()
	written, got := st.reconcile()
	if st.image() != name || got != issue || len(written) != 0 {
		st.t.Errorf("runs %s, wrote %v, is %s; want %s, %s", st.image(), written, got, name, issue)
	}
	if diff := cmp.Diff(want, st.dojo.Status.Rollout); diff != "" {
		st.t.Error(diff)
	}
}

const failedIssue = "Degraded/RolloutFailed"

var refusedTwo = &corev1api.RolloutStatus{ServedImage: "dojo:1", RefusedImage: "dojo:2",
	RefusedReason: "ProgressDeadlineExceeded"}

func TestFailedImageMakesWayForTheFormer(t *testing.T) {
	t.Parallel()
	st := served(t)
	st.expect("dojo:1", &corev1api.RolloutStatus{ServedImage: "dojo:1"}, "")
	st.roll("dojo:2")
	st.fail()
	written, issue := st.reconcile()
	if diff := cmp.Diff([]string{"Deployment"}, written); diff != "" || issue != failedIssue || st.image() != "dojo:1" {
		t.Fatalf("wrote %v, is %s, runs %s", written, issue, st.image())
	}
	serve(t, st.c, 3)
	st.expect("dojo:1", refusedTwo, failedIssue)

	// A lost status does not start the refused rollout again.
	st.dojo.Status = corev1api.DojoStatus{}
	st.expect("dojo:1", refusedTwo, failedIssue)

	st.roll("dojo:3")
	if deploymentOf(t, st.c).Annotations[refusedAnnotation] != "" {
		t.Error("the refusal stays on the Deployment")
	}
	serve(t, st.c, 3)
	st.expect("dojo:3", &corev1api.RolloutStatus{ServedImage: "dojo:3"}, "")
}

func TestAnImageThatWasSetAtZeroReplicasIsRefused(t *testing.T) {
	t.Parallel()
	for unavailable, want := range map[time.Duration]string{time.Second: "dojo:2", time.Hour: "dojo:1"} {
		st := served(t)
		st.roll("dojo:2")
		applytest.EditStatus(t, st.c.Server, "kube-controller-manager", deploymentOf(t, st.c), func(d *appsv1.Deployment) {
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: 3, UpdatedReplicas: 3, Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: rolloutFinished},
					{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse,
						LastTransitionTime: metav1.NewTime(observe(t, st.c, st.dojo).Now.Add(-unavailable))},
				},
			}
		})
		if st.reconcile(); st.image() != want {
			t.Errorf("unavailable for %s: runs %s, want %s", unavailable, st.image(), want)
		}
	}
}

func TestAnImageThatServesWithSomePodsIsNotRefused(t *testing.T) {
	t.Parallel()
	st := served(t)
	st.roll("dojo:2")
	report := func(available int32, status corev1.ConditionStatus) {
		applytest.EditStatus(t, st.c.Server, "kube-controller-manager", deploymentOf(t, st.c), func(d *appsv1.Deployment) {
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: available,
				AvailableReplicas: available, Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: rolloutFinished},
					{Type: appsv1.DeploymentAvailable, Status: status,
						LastTransitionTime: metav1.NewTime(observe(t, st.c, st.dojo).Now.Add(-time.Hour))},
				},
			}
		})
		st.reconcile()
	}
	report(2, corev1.ConditionTrue)
	report(0, corev1.ConditionFalse) // an outage
	if st.image() != "dojo:2" {
		t.Errorf("runs %s, although dojo:2 has served", st.image())
	}
}

func TestFormerImageThatFailsIsNotRefused(t *testing.T) {
	t.Parallel()
	st := served(t)
	st.roll("dojo:2")
	st.fail()
	st.reconcile()
	for range 3 {
		st.fail()
		st.expect("dojo:1", refusedTwo, failedIssue)
	}
}

func TestRefusedImageIsTriedAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*stage){
		"after a change to Manual": func(st *stage) { st.dojo.Spec.Rollout.Rollback = corev1api.RollbackManual },
		"after another image was set": func(st *stage) {
			st.roll("dojo:3")
			st.dojo.Spec.Image = "dojo:2"
		},
		"after the removal of spec.rollout": func(st *stage) { st.dojo.Spec.Rollout = nil },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := served(t)
			st.roll("dojo:2")
			st.fail()
			st.reconcile()
			serve(t, st.c, 3)
			change(st)
			st.reconcile()
			if st.image() != "dojo:2" {
				t.Errorf("runs %s", st.image())
			}
		})
	}
}

func TestNoRollback(t *testing.T) {
	t.Parallel()
	fail := func(st *stage) {
		st.roll("dojo:2")
		st.fail()
	}
	cases := map[string]struct {
		change func(*stage)
		want   string
	}{
		"Manual rollback": {func(st *stage) {
			st.dojo.Spec.Rollout.Rollback = corev1api.RollbackManual
			fail(st)
		}, "dojo:2"},
		"no image has served": {func(st *stage) {
			st.dojo.Status.Rollout = nil
			fail(st)
			st.dojo.Status.Rollout = nil
		}, "dojo:2"},
		"still within the deadline": {func(st *stage) { st.roll("dojo:2") }, "dojo:2"},
		"another spec since the failure": {func(st *stage) {
			fail(st)
			st.dojo.Spec.Title = "Kyoto"
		}, "dojo:2"},
		"the same image, other variables": {func(st *stage) {
			st.dojo.Spec.Title = "Kyoto"
			st.reconcile()
			st.fail()
		}, "dojo:1"},
		"suspended": {func(st *stage) {
			fail(st)
			st.dojo.Spec.Suspend = true
			st.reconcile()
			st.fail()
		}, "dojo:2"},
		"a report of an earlier generation": {func(st *stage) {
			fail(st)
			applytest.EditStatus(st.t, st.c.Server, "kube-controller-manager", deploymentOf(st.t, st.c),
				func(d *appsv1.Deployment) { d.Status.ObservedGeneration-- })
		}, "dojo:2"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := served(t)
			c.change(st)
			_, issue := st.reconcile()
			if st.image() != c.want || issue == failedIssue || refusalOf(deploymentOf(t, st.c)) != nil {
				t.Errorf("runs %s, is %s", st.image(), issue)
			}
		})
	}
}

func TestRollbackIgnoresOtherClients(t *testing.T) {
	t.Parallel()
	st := served(t)
	forged := (&refusal{"dojo:1", "x", "evil:1"}).String()
	applytest.Edit(t, st.c.Server, "kubectl", deploymentOf(t, st.c), func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{refusedAnnotation: forged}
		d.Spec.Template.Spec.Containers[0].Image = "evil:1"
	})
	serve(t, st.c, 3)
	if _, issue := st.reconcile(); issue == failedIssue || st.image() != "dojo:1" {
		t.Errorf("is %s, runs %s", issue, st.image())
	}
	if got := st.dojo.Status.Rollout.ServedImage; got != "dojo:1" {
		t.Errorf("the served image is %s", got)
	}
	st.roll("dojo:2")
	applytest.Edit(t, st.c.Server, "kubectl", deploymentOf(t, st.c), func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{refusedAnnotation: (&refusal{"dojo:2", "x", "evil:1"}).String()}
	})
	if _, issue := st.reconcile(); issue == failedIssue || st.image() != "dojo:2" {
		t.Errorf("is %s, runs %s", issue, st.image())
	}
}

func TestServedImageNeedsPods(t *testing.T) {
	t.Parallel()
	st := served(t, dojotest.Replicas(0))
	if st.dojo.Status.Rollout != nil {
		t.Errorf("without pods, the rollout status is %+v", st.dojo.Status.Rollout)
	}
}

func TestRefusalWhileTheDatabaseMigrates(t *testing.T) {
	t.Parallel()
	st := served(t)
	st.roll("dojo:2")
	st.fail()
	s := observe(t, st.c, st.dojo)
	if plan := Plan(st.dojo, s, access, Hold{Image: true}, testConfig); plan.Apply != nil {
		t.Errorf("wrote %v while SQL runs", dojotest.Kinds(plan))
	}
	st.reconcile()
	serve(t, st.c, 3)
	plan := Plan(st.dojo, observe(t, st.c, st.dojo), access, Hold{Image: true}, testConfig)
	if plan.Apply != nil || dojotest.Worst(plan.Issues) != failedIssue {
		t.Errorf("wrote %v, is %s", dojotest.Kinds(plan), dojotest.Worst(plan.Issues))
	}
	for _, part := range []string{"dojo:1", "dojo:2", "3 of 3 replicas are ready"} {
		if !strings.Contains(plan.Issues[0].Message, part) {
			t.Errorf("no %q in %q", part, plan.Issues[0].Message)
		}
	}
}

// The refused image does not serve while the release step of a third image runs.
func TestRefusalWhileAReleaseStepRuns(t *testing.T) {
	t.Parallel()
	st := served(t)
	st.roll("dojo:2")
	st.fail()
	st.reconcile()
	serve(t, st.c, 3)
	st.dojo.Spec.Image = "dojo:3"
	for range 3 {
		plan := Plan(st.dojo, observe(t, st.c, st.dojo), access, Hold{Pods: true, Serving: "dojo:2"}, testConfig)
		st.c.Do(st.dojo, plan)
		if st.image() != "dojo:1" || dojotest.Worst(plan.Issues) != "" {
			t.Fatalf("runs %s, is %s", st.image(), dojotest.Worst(plan.Issues))
		}
	}
	st.reconcile()
	if st.image() != "dojo:3" {
		t.Errorf("runs %s after the step", st.image())
	}
}

func TestRolloutFields(t *testing.T) {
	t.Parallel()
	spec := func(rollout *corev1api.Rollout) appsv1.DeploymentSpec {
		return created(t, dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Rollout = rollout }), testConfig, access).Spec
	}
	type result struct {
		Unavailable, Surge string
		MinReady, Deadline int32
	}
	quarter, three := intstr.FromString("25%"), intstr.FromInt32(3)
	cases := map[string]struct {
		rollout *corev1api.Rollout
		want    result
	}{
		"no spec.rollout":    {nil, result{"0", "1", 0, 90}},
		"empty spec.rollout": {&corev1api.Rollout{}, result{"0", "1", 0, 90}},
		"all fields": {&corev1api.Rollout{MaxUnavailable: &quarter, MaxSurge: &three, MinReadySeconds: 5,
			ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}}, result{"25%", "3", 5, 600}},
		"a long minReadySeconds": {&corev1api.Rollout{MinReadySeconds: 100}, result{"0", "1", 100, 190}},
		"a deadline below minReadySeconds": {&corev1api.Rollout{MinReadySeconds: 100,
			ProgressDeadline: &metav1.Duration{Duration: time.Second}}, result{"0", "1", 100, 101}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(c.rollout)
			rolling := s.Strategy.RollingUpdate
			got := result{rolling.MaxUnavailable.String(), rolling.MaxSurge.String(), s.MinReadySeconds,
				*s.ProgressDeadlineSeconds}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A missing replica is reported although the condition Available stays True.
func TestMissingReplicaIsDegradedWithMaxUnavailableToo(t *testing.T) {
	t.Parallel()
	one := intstr.FromInt32(1)
	dojo := dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Rollout = &corev1api.Rollout{MaxUnavailable: &one} })
	live := deployment(counts(3, 3, 2), reports(appsv1.DeploymentProgressing, corev1.ConditionTrue, rolloutFinished, ""),
		reports(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", ""))
	live.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: &one}
	for ago, want := range map[time.Duration]string{
		time.Second: "Progressing/ReplicasUnavailable", time.Hour: "Degraded/ReplicasUnavailable",
	} {
		broken := podOf("tokyo-1")
		broken.CreationTimestamp = metav1.NewTime(dojotest.Noon.Add(-2 * time.Hour))
		broken.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(dojotest.Noon.Add(-ago))}}
		issue := rolloutIssue(dojo, State{Now: dojotest.Noon, Deployment: live, Pods: []corev1.Pod{broken}}, testConfig)
		if got := issue.Type + "/" + issue.Reason; got != want {
			t.Errorf("%s: %s, want %s", ago, got, want)
		}
	}
}
