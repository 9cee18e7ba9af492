// SPDX-License-Identifier: Apache-2.0

// Package store is the state of guilds in memory: it takes in the Gateway's events, the results of
// polls and the answers of own writes, and gives out snapshots and events. It does no I/O.
//
// store.go all guilds; guild.go one guild; dispatch.go and members.go the Gateway's events;
// writes.go and webhooks.go own writes and lists; snapshot.go what readers get.
package store
