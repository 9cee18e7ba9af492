// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

var (
	testConfig = Config{Image: "registry.example/dojo:9", ProgressDeadline: 90 * time.Second}
	access     = Credentials{SecretName: "tokyo-credentials", Keys: []string{"DB_ENDPOINT", "DB_PASS"}, Revision: "r"}
)

var foreign = metav1.ObjectMeta{Namespace: "school", Name: "tokyo"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCluster(t *testing.T, objects ...client.Object) *dojotest.Cluster {
	t.Helper()
	c := dojotest.NewCluster(t, objects...)
	must(t, pods.AddIndexes(t.Context(), c.Server))
	must(t, AddIndexes(t.Context(), c.Server))
	return c
}

func observe(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo) State {
	t.Helper()
	s, err := Observe(t.Context(), c.Reader(dojo), dojo, dojotest.Noon)
	must(t, err)
	return s
}

func planFor(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo) apply.Plan {
	t.Helper()
	return Plan(dojo, observe(t, c, dojo), access, Hold{}, testConfig)
}

func deployed(t *testing.T, dojo *corev1api.Dojo, objects ...client.Object) *dojotest.Cluster {
	t.Helper()
	c := newCluster(t, objects...)
	c.Do(dojo, planFor(t, c, dojo))
	serve(t, c, *dojo.Spec.Replicas)
	return c
}

func serve(t *testing.T, c *dojotest.Cluster, ready int32) {
	t.Helper()
	applytest.EditStatus(t, c.Server, "kube-controller-manager", deploymentOf(t, c), func(d *appsv1.Deployment) {
		desired := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: desired, UpdatedReplicas: desired,
			ReadyReplicas: ready, AvailableReplicas: ready,
			Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: rolloutFinished,
			}},
		}
	})
}

func deploymentOf(t *testing.T, c *dojotest.Cluster) *appsv1.Deployment {
	t.Helper()
	return applytest.Get(t, c.Server, "school", "tokyo", &appsv1.Deployment{})
}

func serviceOf(t *testing.T, c *dojotest.Cluster) *corev1.Service {
	t.Helper()
	return applytest.Get(t, c.Server, "school", "tokyo", &corev1.Service{})
}

func budgetOf(t *testing.T, c *dojotest.Cluster) *policyv1.PodDisruptionBudget {
	t.Helper()
	return applytest.Get(t, c.Server, "school", "tokyo", &policyv1.PodDisruptionBudget{})
}

func podOf(name string, containers ...corev1.ContainerStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name},
		Status:     corev1.PodStatus{ContainerStatuses: containers},
	}
}

func crashed(times int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: "dojo", RestartCount: times,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}},
	}
}

func unscheduled(name string) corev1.Pod {
	p := podOf(name)
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return p
}

func suspended(dojo *corev1api.Dojo) { dojo.Spec.Suspend = true }

func scaleTo(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(n) }
}
