// SPDX-License-Identifier: Apache-2.0

// Package workload runs the application of a Dojo: a Deployment whose pods read the Dojo's
// credentials, a Service, and if needed a PodDisruptionBudget and a HorizontalPodAutoscaler. It
// reports the health of the rollout.
//
// An autoscaler of the Dojo uses its scale subresource. An autoscaler of the Deployment is
// recognised by its target. When it has written the replicas, the operator releases that field
// until the autoscaler is gone. managedFields show that the autoscaler wrote the field, but not
// that it is gone. So the operator watches autoscalers.
package workload
