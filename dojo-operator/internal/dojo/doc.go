// SPDX-License-Identifier: Apache-2.0

// Package dojo reconciles Dojos.
//
// A reconcile observes, plans, applies and updates the status (controller.go). plan.go has the
// whole plan of a Dojo on one page. Each part of a Dojo has a package: Observe reads the State of
// the part, and Plan, a pure function, returns the writes and issues. Parts do not import each
// other; this package passes values between them.
//
// Deletion is a plan too (deletion.go). The status is a pure function of the Dojo, its state, the
// plan and its results (status.go).
//
// # The cache
//
// To notice name conflicts, the cache has all Deployments, Services and PodDisruptionBudgets. If
// the operator has not written an object, the cache keeps only its name and its controller
// (cache.go). Managed fields show who has written an object. Labels and owner references do not,
// since any client can forge them to fill the memory. An object of more than [apply.MaxKept] is
// always stripped. A name conflict over the Secret, the Deployment or the Service stops all writes;
// a conflict over another kind stops the writes of that kind.
//
// # The status
//
// A new Dojo costs two writes of the status, Progressing and Ready, and one more for each step of
// its database. During a rollout, a change of counts alone is written when the counts have not
// changed for two seconds, or when it covers a tenth of the pods. Conditions are written at once.
// status.waitingFor records since when an object of another owner has been missing; after the
// deadline the Dojo is Degraded. For lost replicas and a Cluster that does not start, the deadline
// counts from times that Kubernetes and CloudNativePG record. So a restart of the operator does not
// restart a deadline.
package dojo
