// SPDX-License-Identifier: Apache-2.0

// Package ownership defines which objects belong to a Dojo. The garbage collector deletes children,
// which the Dojo owns. Objects with data have labels and no owner. If they had an owner, a
// foreground deletion would delete them without waiting for our finalizer.
package ownership
