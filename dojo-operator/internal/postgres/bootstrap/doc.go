// SPDX-License-Identifier: Apache-2.0

// Package bootstrap fills a Dojo's own Cluster from a backup or from another database.
//
// A source counts only when the Cluster is created, and must be fully known by then. The Cluster
// names its origin in an annotation and keeps its bootstrap fields ([OriginalChange]), since the
// Backup or Secret may go. A Cluster of another origin is left alone ([Mismatch]).
package bootstrap
