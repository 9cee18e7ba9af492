// SPDX-License-Identifier: Apache-2.0

// Package bootstrap fills a Dojo's own Cluster from a backup or from another database. An
// annotation on the Cluster names the source, which may later be deleted.
package bootstrap
