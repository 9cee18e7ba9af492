// SPDX-License-Identifier: Apache-2.0

// Package release runs the release step of a Dojo before any pod of a new image: a command in that
// image, or files of SQL (migrations, cmd/dojo-migrate).
//
// A step is identified by a hash of its image and command, or of its files, of the database, and of
// the Dojo's UID: pods of a former Dojo of its name prove nothing. The hash names the Job, so that
// the API server refuses a second one. No Job is created until the API
// server, not the cache, shows no other Job and no pod of one. A running Job is never deleted for a
// later step: nobody knows where it would stop.
//
// The status records the steps that have succeeded, and the failed one, since Jobs may be deleted.
// A pod that succeeds after its Job was deleted counts too.
package release
