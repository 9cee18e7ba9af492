// SPDX-License-Identifier: Apache-2.0

// Package postgres gives a Dojo with spec.postgres its database on CloudNativePG, 1.30 or newer
// (https://github.com/cloudnative-pg/cloudnative-pg/tree/v1.30.0/api/v1).
//
// plan.go lists the steps. Each waits for the one before: CloudNativePG retries a failed object
// only every 30 seconds. The Secret has the keys that CloudNativePG writes for an owner, and is
// copied to the pods like that of spec.credentialsRef.
//
// Objects with data have labels and no owner reference: Retain needs no finalizer, and a Dojo that
// is created again finds its data. With Delete, a finalizer deletes them in order ([Drop]).
//
// Objects are applied from maps: the types of github.com/cloudnative-pg/api send empty fields,
// which CloudNativePG refuses (extensions[].ensure: "") or restarts Postgres for (empty maps).
package postgres
