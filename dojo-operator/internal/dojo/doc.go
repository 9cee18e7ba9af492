// Package dojo reconciles Dojo objects.
//
// A Dojo needs, in this order: with spec.postgres a database, for which there is one way (database.go): a CloudNativePG Cluster, a
// password and the role that has it, a database, its tables; then the credentials of that or of any other database, copied into a
// Secret of its own in the form that the application reads; a Deployment that rolls whenever these credentials
// change; a Service; and where they are asked for, a PodDisruptionBudget, an Ingress, a ServiceMonitor and a PrometheusRule, and a way for its
// alarms into Discord (alerts.go). All of them but what holds data are owned by the Dojo, so deleting it is left to the garbage
// collector; data that is to go with the Dojo is taken apart in order (reclaim.go).
//
// Each pass looks (observe.go), decides (plan.go, with one file per child), acts (act.go) and tells
// (report.go). Only the first and the last two do I/O. What a child should be is an apply configuration that names the fields
// we own and no others; it is written only when the live object does not already hold exactly these fields
// (children.go, and custom.go for kinds that a cluster may not have), so a settled Dojo costs nothing.
//
// Secrets are the delicate part. The cache holds their metadata only, stripped to a few fields (cache.go), and a pass
// reads a Secret's data straight from the API server, only when the metadata says that a copy is
// out of date (credentials.go) or that the password of the database has to be written (password.go).
package dojo
