// SPDX-License-Identifier: Apache-2.0

// Package model is the state of a simulated Discord: users, bots, guilds and their contents, under
// one lock.
//
// Each type of object and its JSON have a file of their own (channel.go, guild.go, users.go,
// members.go, webhooks.go, messages.go). Other files make changes with their effects: Gateway
// events, audit log entries and changes of other objects (channel_changes.go, guild_changes.go,
// audit.go). permissions.go computes a member's permissions.
//
// The package does not check whether a caller may make a change. The REST routes (packages
// rest/...) check it first, and a test that acts as a user of the app needs no permission.
package model
