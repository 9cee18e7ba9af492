// Package conditions gives the four conditions of every kind of ours one
// meaning, and turns the outcome of a reconcile into them and into a requeue.
//
//   - Available: it can be used now.
//   - Progressing: the operator is working towards the desired state.
//   - Degraded: an error from which the operator cannot recover alone.
//   - Ready: the spec is true. It is what `kubectl wait`, Flux and Helm look at.
//
// A reconciler ends in two facts: whether the thing can be used ([Availability]) and how the pass ended (an error, which is nil,
// a [*Waiting], a [*Terminal] or anything else, which counts as transient). [Set] derives all four conditions from
// these two and takes nothing else, so a combination that makes no sense, such as Degraded together with
// Progressing, cannot be written. [Result] is the one place where an outcome becomes a requeue, and [EventFor] the one where a
// change of conditions becomes an event.
package conditions
