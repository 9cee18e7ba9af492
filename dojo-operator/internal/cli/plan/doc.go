// SPDX-License-Identifier: Apache-2.0

// Package plan says what the operator would do: `kubectl dojo plan`.
//
// The operator's own Reconciler runs in this process on a [Model]: the live cluster, read with the
// user's rights, below the writes so far. No write leaves the process but as a server-side dry run,
// which shows refusals by schemas, quotas and admission policies. Rounds follow each other until the
// Reconciler writes nothing more; that is the first stage. Then the Model plays the answer of the
// other controllers (others.go), such as a Cluster that is ready, and the next stage begins.
//
// changes.go compares the objects before and after a stage, consequences.go says what that means for
// pods, Postgres and data, report.go writes it. Those and fields.go are pure.
package plan
