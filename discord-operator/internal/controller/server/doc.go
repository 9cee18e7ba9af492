// SPDX-License-Identifier: Apache-2.0

// Package server reconciles DiscordServer objects.
//
// A server needs, in this order: a bot token that Discord takes; a guild that the bot is in and that no
// other DiscordServer manages; the permissions that its settings, groups and channels ask for; and the
// settings that the spec names, corrected by one edit. Groups and channels continue as soon as the server
// is Available: a setting that is refused does not hold them up.
//
// A guild is never created, and its claims weigh differently. Of package lifecycle it uses the records of
// responses and the deletion alone.
package server
