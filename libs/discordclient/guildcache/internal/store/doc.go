// SPDX-License-Identifier: Apache-2.0

// Package store holds the state of the guilds in memory, without I/O. Gateway events, poll results
// and responses to own writes go in; snapshots and events come out.
package store
