// SPDX-License-Identifier: Apache-2.0

// Package workload runs the application of a Dojo: a Deployment whose pods read the Dojo's
// credentials, a Service, and if needed a PodDisruptionBudget and a HorizontalPodAutoscaler. It
// reports the health of the rollout.
//
// A user's autoscaler may scale the Dojo, through the Dojo's scale subresource, or the Deployment.
// The operator recognises an autoscaler of the Deployment by its scaleTargetRef. Once this
// autoscaler has written the Deployment's replicas, the operator omits the field from its applies
// until the autoscaler is deleted. managedFields show that an autoscaler has written the field, but
// not that the autoscaler is gone. So the operator watches autoscalers.
package workload
