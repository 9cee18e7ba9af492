// SPDX-License-Identifier: Apache-2.0

// Package release runs the release step of a Dojo before any pod of a new image: a command in that
// image, or SQL migrations (package migrations, cmd/dojo-migrate).
//
// A hash identifies a step. It covers the image and the command, or the files, and also the
// database and the Dojo's UID. The UID is included because a pod of a deleted Dojo with the same
// name does not prove that this Dojo's step has succeeded.
//
// The Job's name contains the beginning of the hash, so the API server refuses a second Job for the
// same step. Before the operator creates a Job, it lists the release Jobs and their pods from the
// API server, not from the cache. It creates the Job only if no Job of another step exists and the
// pods of all release Jobs have ended. It does not delete a running Job to begin another step,
// because the Job may have done only a part of its work.
//
// Users may delete Jobs, so the status records the steps that have succeeded, and the failed step.
// If a pod succeeds after its Job was deleted, the step has succeeded too.
package release
