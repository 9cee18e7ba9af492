// SPDX-License-Identifier: Apache-2.0

// Package workload runs the application of a Dojo: a Deployment whose pods read the Dojo's
// credentials, a Service, and if needed a PodDisruptionBudget and a HorizontalPodAutoscaler. It
// reports the health of the rollout.
//
// A user's autoscaler may scale the Dojo, through the Dojo's scale subresource, or the Deployment.
// The operator recognises an autoscaler of the Deployment by its target. Once such an autoscaler
// has written the replicas, the operator releases the field replicas until the autoscaler is gone.
// managedFields show that the autoscaler wrote the field, but not that the autoscaler is gone. So
// the operator watches autoscalers.
package workload
