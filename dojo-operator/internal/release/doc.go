// SPDX-License-Identifier: Apache-2.0

// Package release runs the release step of a Dojo before any pod of a new image: a command in that
// image, or files of SQL (migrations, cmd/dojo-migrate).
//
// A hash identifies a step. It covers the image and command, or the files, and also the database
// and the Dojo's UID. With the UID, a pod of a deleted Dojo with the same name is no proof that
// this Dojo's step has succeeded. The Job's name contains the hash, so that the API server refuses
// a second Job. The operator first asks the API server, not the cache, and creates a Job only if no
// other Job of a step exists, and every pod of such a Job has ended. It never deletes a running Job
// for a later step, since the Job may have done only a part of its work.
//
// Users may delete Jobs, so the status records the steps that have succeeded, and the failed step.
// If a pod succeeds after its Job was deleted, the step has succeeded too.
package release
