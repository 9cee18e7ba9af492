// SPDX-License-Identifier: Apache-2.0

// Package schema runs a Dojo's SQL: the table weapons, and spec.postgres.initSQL.
//
// One Job runs at a time, and its pods are gone before the next begins: concurrent `create table if
// not exists` fails, and old SQL must not end last. A session that outlives its pod holds an
// advisory lock (schema.sh). The Database records the digest of the SQL that has run, since Jobs
// may be deleted, and is cleared before other SQL begins.
package schema
