// SPDX-License-Identifier: Apache-2.0

// Package plan says what the operator would do: `kubectl dojo plan`.
//
// The operator's own Reconciler runs in this process on a [Model]: the live cluster, read with the
// user's rights, with the writes so far applied. A write leaves the process only as a server-side
// dry run, which shows refusals by schemas, quotas and admission policies. The Reconciler runs
// until it writes nothing more; this is the first stage. Then the Model plays the answer of the
// other controllers (others.go), such as a Cluster that is ready, and the next stage begins.
//
// changes.go compares the objects before and after a stage. consequences.go derives the effects on
// pods, Postgres and data. report.go writes the report. These files and fields.go do no I/O.
package plan
