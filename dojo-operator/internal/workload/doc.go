// SPDX-License-Identifier: Apache-2.0

// Package workload runs the application of a Dojo: a Deployment whose pods read the Dojo's
// credentials, a Service, and where they are asked for a PodDisruptionBudget and a
// HorizontalPodAutoscaler. It reports the health of the rollout.
package workload
