// SPDX-License-Identifier: Apache-2.0

// Package ownership says which objects belong to a Dojo: their labels and owner references, and
// what a name conflict is.
//
// A child has the Dojo as its controller, and the garbage collector takes it with the Dojo. What
// holds data has labels instead: owned by the Dojo, it would be taken when a user deletes in the
// foreground, before any finalizer of ours is asked.
package ownership
