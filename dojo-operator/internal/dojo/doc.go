// SPDX-License-Identifier: Apache-2.0

// Package dojo reconciles Dojos.
//
// A reconcile observes, plans, applies and updates the status (controller.go). plan.go has
// the whole plan of a Dojo on one page. Each part of a Dojo has a package: Observe reads the State of
// the part, and Plan, a pure function, returns the writes and issues. No part knows another one; this
// package passes values between them.
//
// Deletion is a plan too (deletion.go). The status is a pure function of the Dojo, its state, the
// plan and its results (status.go).
//
// # The cache
//
// To notice name conflicts, the cache has all Deployments, Services and PodDisruptionBudgets. Of an
// object that the operator has not written it keeps the name and the controller (cache.go). Managed
// fields show who has written an object: any client can forge labels and owner references, and would
// fill the memory with them. An object of more than [apply.MaxKept] is stripped in any case. A
// conflict over the Secret, the Deployment or the Service stops everything; over another kind, that
// kind only.
//
// # The status
//
// A new Dojo costs two writes of the status, Progressing and Ready, and one more for each step of its
// database. During a rollout, a change of counts alone is written when it has rested for two seconds
// or covers a tenth of the pods; conditions are written at once. status.waitingFor records since when
// an object of another owner has been missing, and after the deadline the Dojo is Degraded. For lost
// replicas and a Cluster that does not start, the times that Kubernetes and CloudNativePG record
// count, so that a restart of the operator does not begin the wait anew.
package dojo
