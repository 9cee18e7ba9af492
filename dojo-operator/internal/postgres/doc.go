// SPDX-License-Identifier: Apache-2.0

// Package postgres gives a Dojo with spec.postgres its database on CloudNativePG, 1.30 or newer
// (https://github.com/cloudnative-pg/cloudnative-pg/tree/v1.30.0/api/v1).
//
// The steps are those of plan.go: Cluster, password and role, database, schema. A Cluster of the
// Dojo's own only adds one object in front. Each step waits for the one before, since CloudNativePG
// looks again only every 30 seconds at what it cannot do yet. The generated Secret looks like any
// that CloudNativePG writes for the owner of a database, so that from there on it is copied to the
// pods like that of spec.credentialsRef.
//
// What holds data (Cluster, Database, DatabaseRole, the password) has labels and no owner, so that
// Retain needs no finalizer, and a Dojo that is created again finds its data. With Delete, a
// finalizer takes the data apart in order ([Drop]).
//
// Objects are read as types of github.com/cloudnative-pg/api, and applied from maps: the types send
// empty fields, which CloudNativePG refuses (extensions[].ensure: "") or takes for a change that
// restarts Postgres (empty maps).
package postgres
