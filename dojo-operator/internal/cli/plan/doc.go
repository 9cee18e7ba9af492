// SPDX-License-Identifier: Apache-2.0

// Package plan predicts the changes that the operator would make, for `kubectl dojo plan`.
//
// The operator's own Reconciler runs in this process on a [Model]. A Model simulates the cluster:
// it reads live objects with the user's rights, and keeps the writes of the plan in memory. A write
// leaves the process only as a server-side dry run, which shows refusals by schemas, quotas and
// admission policies.
//
// A plan has stages. In each stage, the Reconciler runs until it writes nothing more. Then the
// Model simulates the other controllers (others.go): for example, it makes a Cluster ready. After
// that, the next stage begins.
//
// changes.go compares the objects before and after a stage. consequences.go derives the effects on
// pods, Postgres and data. report.go writes the report. These files and fields.go do no I/O.
package plan
