// SPDX-License-Identifier: Apache-2.0

// Package model is the state of a simulated Discord: users, bots, guilds and their contents, under
// one lock.
//
// For each kind of object it has the type and its JSON (channel.go, guild.go, users.go, members.go,
// webhooks.go, messages.go), and the effects of a change by a bot or a user: events, audit log
// entries and changes of other objects (channel_changes.go, guild_changes.go, audit.go). It does
// not decide whether a caller may make a change: REST checks that first (packages rest/...), and a
// test acting as a user needs no permission. permissions.go computes a member's permissions.
package model
