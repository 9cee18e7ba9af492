// SPDX-License-Identifier: Apache-2.0

package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// refusedPods returns an issue if a ResourceQuota, a policy or a webhook refuses pods.
func refusedPods(live *appsv1.Deployment, count string) *conditions.Issue {
	failure := deploymentCondition(live, appsv1.DeploymentReplicaFailure)
	if failure.Status != corev1.ConditionTrue {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonReplicaFailure, "%s; pods cannot be created: %s", count, failure.Message)
}
