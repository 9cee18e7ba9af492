// SPDX-License-Identifier: Apache-2.0

// Package conditions defines the four conditions of every kind.
//
//   - Available: usable now.
//   - Progressing: the operator is working towards the desired state.
//   - Degraded: an error that only a user can fix.
//   - Ready: the object matches its spec. `kubectl wait`, Flux and Helm read it.
//
// At its end, a reconcile has the object's [Availability] and a list of [Issue]. [Worst] selects
// the issue to report. [Set] derives all four conditions from the availability and this issue
// alone, so the conditions cannot contradict each other. Only [Result] turns issues into a requeue,
// and only [EventFor] turns changes of conditions into an event.
//
// The module is internal to the project: each version may change its API. Programs that read
// conditions need only module apis and k8s.io/apimachinery.
package conditions
