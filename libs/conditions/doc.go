// SPDX-License-Identifier: Apache-2.0

// Package conditions defines the four conditions of every kind.
//
//   - Available: usable now.
//   - Progressing: the operator is working towards the desired state.
//   - Degraded: an error that only a user can fix.
//   - Ready: the object matches its spec. `kubectl wait`, Flux and Helm read it.
//
// A reconcile ends in two facts: the object's [Availability], and the list of [Issue] that keep it
// from matching its spec. [Worst] selects the issue to report. [Set] derives all four conditions
// from these facts alone, so that contradictions such as Degraded with Progressing are impossible.
// Only [Result] turns issues into a requeue, and only [EventFor] turns changed conditions into an
// event.
package conditions
