// SPDX-License-Identifier: Apache-2.0

// Package model is the state of a simulated Discord: users, bots, guilds and their contents, under
// one lock.
//
// Each kind of object has its type and JSON in a file of its own (channel.go, guild.go, users.go,
// members.go, webhooks.go, messages.go). Other files have the effects of a change by a bot or a
// user: events, audit log entries and changes of other objects (channel_changes.go,
// guild_changes.go, audit.go). The package does not decide whether a caller may make a change: REST
// checks that first (packages rest/...), and a test that acts as a user needs no permission.
// permissions.go computes a member's permissions.
package model
