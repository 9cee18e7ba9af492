// SPDX-License-Identifier: Apache-2.0

// Package store has the state of the guilds in memory, without I/O. Responses and Gateway events
// have no version and may overtake each other. So a view that may have missed a change is stale
// until a later reading by REST.
package store
