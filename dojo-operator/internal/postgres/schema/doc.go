// SPDX-License-Identifier: Apache-2.0

// Package schema runs a Dojo's SQL in Jobs: the SQL for the table weapons, and
// spec.postgres.initSQL. One such Job runs at a time: concurrent `create table if not exists` can
// fail, and old SQL must not end after newer SQL. With an advisory lock, the SQL also waits for
// former sessions that outlive their pods (schema.sh). An annotation of the Database has the digest
// of the SQL that has run, because Jobs may be deleted.
package schema
