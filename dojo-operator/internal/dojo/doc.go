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
// the operator has not written an object, the cache keeps only the object's name and controller
// (cache.go). The managed fields of an object show whether the operator has written it. Labels and
// owner references cannot show this, because any client could forge them and fill the memory. The
// cache also strips each object that is larger than [apply.MaxKept]. A name conflict over the
// Secret, the Deployment or the Service stops all writes; a conflict over another kind stops the
// writes of that kind.
//
// # The status
//
// The operator writes the status of a new Dojo twice, for Progressing and for Ready, and once more
// for each step of its database. During a rollout, it does not write each change of a count: it
// waits until the counts have not changed for two seconds, or have changed by more than a tenth of
// the pods. It writes changes of conditions at once.
//
// status.waitingFor records the time since which an object of another owner has been missing. After
// the deadline the Dojo is Degraded. For lost replicas and for a Cluster that does not start, the
// deadline starts at times that Kubernetes and CloudNativePG record. So no deadline restarts when
// the operator does.
package dojo
