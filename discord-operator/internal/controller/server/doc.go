// SPDX-License-Identifier: Apache-2.0

// Package server reconciles DiscordServer objects.
//
// A reconcile checks, in this order, that Discord accepts the bot token, that the bot is in the
// guild, that no other DiscordServer manages the guild, and that the bot has the permissions for
// settings, groups and channels. Then it corrects drifted settings by one edit. Groups and channels
// continue as soon as the server is Available, even if Discord refuses a setting.
//
// The operator never creates a guild. Several DiscordServers may name the same guild, and claim.go
// selects the DiscordServer that manages it. So package lifecycle does not find, create or edit the
// guild. It only deletes the guild, and records Discord's responses.
package server
