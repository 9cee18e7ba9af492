// SPDX-License-Identifier: Apache-2.0

// Package server reconciles DiscordServer objects.
//
// A server needs, in this order: a bot token that Discord accepts; a guild with the bot in it that
// no other DiscordServer manages; the permissions for its settings, groups and channels; and
// corrected fields, by one edit. Groups and channels continue as soon as the server is Available,
// even if a field is refused.
//
// The operator never creates a guild, and several objects may claim the same guild (claim.go). So
// this package uses only the records of responses and the deletion of package lifecycle.
package server
