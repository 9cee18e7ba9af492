// SPDX-License-Identifier: Apache-2.0

// Package ownership defines which objects are a Dojo's. The garbage collector deletes its children.
// Objects with data have labels and no owner: a foreground deletion would not wait for our
// finalizer.
package ownership
