// SPDX-License-Identifier: Apache-2.0

// Package model is the state of a simulated Discord: users, bots, guilds and all that is in them,
// under one lock.
//
// For each thing there is what it is and how Discord writes it as JSON (channel.go, guild.go,
// users.go, members.go, webhooks.go, messages.go), and what follows from a change of it, whether a
// bot or a user makes it: events, audit log entries, and the changes of other things
// (channel_changes.go, guild_changes.go, audit.go). What a caller may change is not decided here:
// REST asks first (packages rest/...), and what a test does as a user needs no permission.
// permissions.go computes what a member may do.
package model
