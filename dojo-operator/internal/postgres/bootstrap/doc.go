// SPDX-License-Identifier: Apache-2.0

// Package bootstrap fills a Dojo's own Cluster from a backup or from another database.
//
// The source must be known when the Cluster is created. The Cluster then has its origin in an
// annotation, and keeps its bootstrap fields ([OriginalChange]), since the Backup or the Secret may
// be deleted later.
package bootstrap
