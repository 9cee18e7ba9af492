// SPDX-License-Identifier: Apache-2.0

// Package release runs the release step of a Dojo before any pod of a new image: a command in that
// image, or files of SQL (migrations, cmd/dojo-migrate).
//
// A step is identified by a hash of its image and command, or of its files, together with the
// database and the Dojo's UID. The UID matters because pods of a former Dojo of the same name prove
// nothing. The hash is part of the Job's name, so that the API server refuses a second Job. A Job
// is created only if the API server, not the cache, shows no other Job and no pod of one. A running
// Job is never deleted for a later step, since it may have done only a part of its work.
//
// Jobs may be deleted, so the status records the steps that have succeeded, and the failed step. A
// pod that succeeds after its Job was deleted counts too.
package release
