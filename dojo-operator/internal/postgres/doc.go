// SPDX-License-Identifier: Apache-2.0

// Package postgres gives a Dojo with spec.postgres its database on CloudNativePG, 1.30 or newer
// (https://github.com/cloudnative-pg/cloudnative-pg/tree/v1.30.0/api/v1).
//
// Each step waits for the preceding step, since CloudNativePG retries a failed object only every 30
// seconds.
//
// Objects with data have labels and no owner. So Retain needs no finalizer, and a Dojo that is
// created again finds its data. Objects are applied from maps, because the types of
// github.com/cloudnative-pg/api send empty fields. CloudNativePG refuses some empty fields
// (extensions[].ensure: ""), and restarts Postgres because of other empty fields.
package postgres
