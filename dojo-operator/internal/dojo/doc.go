// Package dojo reconciles Dojo objects.
//
// A Dojo needs, in this order: the credentials of a database, copied into a
// Secret of its own in the form that the application reads; a Deployment that
// rolls whenever these credentials change; a Service; and, with more than one replica, a
// PodDisruptionBudget. All of them are owned by the Dojo, so deleting it is left to the garbage collector.
//
// Each pass looks (observe.go), decides (plan.go, with one file per child), acts (act.go) and tells
// (report.go). Only the first and the last two do I/O. What a child should be is an apply configuration that names the fields
// we own and no others; it is written only when the live object does not already hold exactly these fields
// (children.go), so a settled Dojo costs nothing.
//
// Secrets are the delicate part. The cache holds their metadata only, stripped to a few fields (cache.go), and a pass
// reads a Secret's data straight from the API server, only when the metadata says that a copy is
// out of date (credentials.go).
package dojo
