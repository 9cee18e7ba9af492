// SPDX-License-Identifier: Apache-2.0

// Package schema brings the SQL of a Dojo into its database: the table weapons, and
// spec.postgres.initSQL.
//
// A Job runs all of it as the owner of the database, or as the login that acts as the owner; the one
// statement that makes a login do so is run in the same way. Only one runs at a time: before another
// begins, the former Job and its pods are gone, since `create table if not exists` of two sessions
// fails, and old SQL must not end last. A session that outlives its pod holds an advisory lock (schema.sh).
//
// What has run is recorded on the Database, by a digest of the SQL's content: Jobs may be deleted at
// any time, by a TTL or a user. Before the Job of other SQL is created, the record is cleared. The
// content is read only where the versions of its ConfigMaps and Secrets are not those of which the
// digest is known.
package schema
