// SPDX-License-Identifier: Apache-2.0

// Package workload runs the application of a Dojo: a Deployment whose pods read the Dojo's
// credentials, a Service, and where they are asked for a PodDisruptionBudget and a
// HorizontalPodAutoscaler. It reports the health of the rollout.
//
// Autoscalers of the Dojo go through its scale subresource. One of the Deployment itself is
// recognised by its target: when it has written the replicas, the operator releases that field, until
// the autoscaler is gone. managedFields show that it wrote the field, and not that it is gone, so
// autoscalers are watched.
package workload
