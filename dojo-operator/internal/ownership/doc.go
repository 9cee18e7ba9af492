// SPDX-License-Identifier: Apache-2.0

// Package ownership determines which objects belong to a Dojo. The Dojo owns its children, so the
// garbage collector deletes them with it. Objects with data, such as a Cluster, have only labels
// and no owner reference. With an owner reference, a foreground deletion of the Dojo would delete
// the data without waiting for our finalizer.
package ownership
