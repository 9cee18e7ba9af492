// SPDX-License-Identifier: Apache-2.0

// Package postgres creates and maintains the database of a Dojo with spec.postgres, on
// CloudNativePG 1.30 or newer
// (https://github.com/cloudnative-pg/cloudnative-pg/tree/v1.30.0/api/v1).
//
// The operator works in steps, such as the Cluster, the login and the Database. A step waits for
// the preceding steps, since CloudNativePG retries a failed object only every 30 seconds.
//
// Objects of CloudNativePG that hold data have labels but no owner reference, so the garbage
// collector keeps them when the Dojo is deleted. Therefore reclaimPolicy Retain needs no finalizer
// once all objects are marked as retained, and a Dojo that is created again finds its data.
//
// The operator applies these objects from maps, because the Go types of
// github.com/cloudnative-pg/api serialize empty fields. CloudNativePG refuses some empty fields
// (extensions[].ensure: ""), and restarts Postgres because of others.
package postgres
