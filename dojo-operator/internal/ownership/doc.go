// SPDX-License-Identifier: Apache-2.0

// Package ownership determines which objects belong to a Dojo. Children have an owner reference for
// the garbage collector. Objects with data, such as a Cluster, have only labels: with an owner
// reference, a foreground deletion of the Dojo would delete the data before our finalizer runs.
package ownership
