// SPDX-License-Identifier: Apache-2.0

// Package store holds the state of the guilds in memory. Gateway events, poll results and responses
// to own writes go in; snapshots and events come out. It does no I/O.
//
// store.go has all guilds; guild.go one guild; dispatch.go and members.go the Gateway's events;
// writes.go and webhooks.go own writes and lists; snapshot.go the types for readers.
package store
