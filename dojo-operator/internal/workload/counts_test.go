// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/dojo-operator/internal/ownership"
)

func TestCountsAlone(t *testing.T) {
	t.Parallel()
	condition := func(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason})
		}
	}
	cases := map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"generation observed": {func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }, true},
		"one more pod":        {func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 1, 1 }, true},
		"revision annotation of kube-controller-manager": {func(d *appsv1.Deployment) { d.Annotations["deployment.kubernetes.io/revision"] = "1" }, true},
		"progressing":            {condition(appsv1.DeploymentProgressing, "True", "ReplicaSetUpdated"), true},
		"not available":          {condition(appsv1.DeploymentAvailable, "False", "MinimumReplicasUnavailable"), true},
		"the first pod is ready": {func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 }, false},
		"complete": {func(d *appsv1.Deployment) {
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
		}, false},
		"stuck":                        {condition(appsv1.DeploymentProgressing, "False", deadlineExceeded), false},
		"rolled out":                   {condition(appsv1.DeploymentProgressing, "True", rolloutFinished), false},
		"refused":                      {condition(appsv1.DeploymentReplicaFailure, "True", "FailedCreate"), false},
		"another spec":                 {func(d *appsv1.Deployment) { d.Generation = 2 }, false},
		"labels removed":               {func(d *appsv1.Deployment) { d.Labels = nil }, false},
		"owner removed":                {func(d *appsv1.Deployment) { d.OwnerReferences = nil }, false},
		"being deleted":                {func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{} }, false},
		"our shape annotation removed": {func(d *appsv1.Deployment) { d.Annotations = nil }, false},
		"our managedFields removed":    {func(d *appsv1.Deployment) { d.ManagedFields = nil }, false},
		"a resync":                     {func(d *appsv1.Deployment) { d.ResourceVersion = "1" }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{
					ResourceVersion: "1", Generation: 1, Labels: map[string]string{"app": "tokyo"},
					Annotations:     map[string]string{"jutsu.com/created-shape": "a"},
					OwnerReferences: []metav1.OwnerReference{{Name: "tokyo", UID: "u", Controller: new(true)}},
					ManagedFields: []metav1.ManagedFieldsEntry{{
						Manager: ownership.FieldOwner, Operation: metav1.ManagedFieldsOperationUpdate,
						FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:app":{}}}}`),
					}},
				},
				Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))},
			}
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			if name == "stuck" || name == "rolled out" || name == "refused" {
				before.Status.ObservedGeneration, after.Status.ObservedGeneration = 1, 1
			}
			c.change(after)
			if got := CountsAlone(before, after); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	many := func(ready int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: string('a' + ready)}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(40))},
			Status: appsv1.DeploymentStatus{Replicas: 40, ReadyReplicas: ready},
		}
	}
	if !CountsAlone(many(4), many(7)) || CountsAlone(many(4), many(8)) {
		t.Error("with many pods, a change by a tenth is not reported, or a smaller change is")
	}
}
