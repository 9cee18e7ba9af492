// SPDX-License-Identifier: Apache-2.0

// Package bootstrap fills a Dojo's own Cluster from a backup or from another database.
//
// The operator reads the source when it creates the Cluster, since the Backup or the Secret may be
// deleted later. From then on, an annotation on the Cluster names the source, and the Cluster keeps
// its bootstrap fields ([OriginalChange]).
package bootstrap
