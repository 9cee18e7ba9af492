// SPDX-License-Identifier: Apache-2.0

// Package schema runs a Dojo's SQL: the SQL that creates the application's table weapons, and
// spec.postgres.initSQL.
//
// One Job runs at a time, and its pods have ended before the next Job begins: concurrent `create
// table if not exists` fails, and old SQL must not end after newer SQL. An advisory lock protects
// against a session that outlives its pod (schema.sh). Jobs may be deleted, so an annotation of the
// Database records the digest of the SQL that has run. The operator clears this record before it
// runs other SQL.
package schema
