// SPDX-License-Identifier: Apache-2.0

// Package conditions gives the four conditions of every kind of ours one meaning.
//
//   - Available: it can be used now.
//   - Progressing: the operator is working towards the desired state.
//   - Degraded: an error that the operator cannot resolve alone; a user must act.
//   - Ready: the object matches its spec. `kubectl wait`, Flux and Helm look at it.
//
// A reconcile ends in two facts: whether the object can be used ([Availability]) and the list of
// [Issue] that keep it from matching its spec. [Worst] chooses the one to report, [Set] derives all
// four conditions from these two facts and takes nothing else, so that a contradiction such as
// Degraded together with Progressing cannot be written. [Result] is the one place where issues
// become a requeue, and [EventFor] the one where a change of conditions becomes an event.
package conditions
