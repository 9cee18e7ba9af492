// SPDX-License-Identifier: Apache-2.0

// Package dojo reconciles Dojos.
//
// A reconcile observes, plans, applies and updates the status (controller.go). The function Plan
// (plan.go) shows all writes for a Dojo on one page. Each part of a Dojo, such as its database or
// its alerts, has a package of its own. The package's function Observe reads the objects of the
// part into a State. Its function Plan has no side effects: it returns the writes, and the issues
// that conditions report. The packages of the parts do not import each other; this package passes
// values between them.
//
// A deletion is planned in the same way (deletion.go). The function status computes the status from
// the Dojo, the observed objects and the results of the writes (status.go). It has no side effects.
//
// # The cache
//
// The cache has all Deployments, Services and PodDisruptionBudgets, because any of them may have
// the name that a child needs. If the operator has not written an object, the cache keeps a few
// fields, such as the object's identity, controller and our labels (cache.go). The managed fields
// show whether the operator has written the object. Labels and owner references cannot show this:
// any client could forge them, and so fill the memory. The cache also strips objects larger than
// [apply.MaxKept]. If another owner's object has the name of the Secret, the Deployment or the
// Service, the operator writes no child, except for [monitoring.Safeguards]. If the conflict is
// over another kind, the operator still writes the children of the kinds without a conflict.
//
// # The status
//
// While a Dojo is new, the operator writes its status when the Dojo becomes Progressing, at each
// step of its database, and when the Dojo becomes Ready. During a rollout, the counts of pods
// change often. The operator writes them once the rollout has not moved for two seconds, or the
// number of ready pods has changed by more than one and by more than a tenth of the pods. It writes
// a change of a condition's status or reason at once.
//
// status.waitingFor records when a wait started, such as the wait for an object of another owner.
// After a deadline, the Dojo becomes Degraded. Other deadlines start at times that Kubernetes and
// CloudNativePG record, such as the last change of a pod's readiness. So a restart of the operator
// does not restart these deadlines.
package dojo
