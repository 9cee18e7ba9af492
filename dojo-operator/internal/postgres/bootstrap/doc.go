// SPDX-License-Identifier: Apache-2.0

// Package bootstrap is where the data of a Dojo's own Cluster comes from: a backup, or a database
// elsewhere.
//
// It has its effect when the Cluster is created, and no Cluster is created while it is not known in
// full ([Fields]). From then on the Cluster says itself what it was made from, in an annotation, and
// keeps the fields that it was created with ([Keep]): what they were made of, a Backup or a Secret, may
// be gone. A Cluster that exists and says something else is left alone ([Mismatch]). While
// CloudNativePG fills the Cluster, [Progress] says how far it is.
package bootstrap
