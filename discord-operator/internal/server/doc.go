// SPDX-License-Identifier: Apache-2.0

// Package server reconciles DiscordServer objects.
//
// A server needs, in this order: a bot token that Discord takes; a guild that the bot is in (given
// by its id, or created, where Discord lets bots do that) and that no other DiscordServer manages;
// the permissions that its settings, groups and channels ask for; and the settings that the spec
// names, corrected by one edit. Groups and channels continue as soon as the server is Available: a
// setting that is refused does not hold them up.
//
// A guild has claims that weigh differently, and no audit log before it exists, so of package
// external it uses the create records and the deletion alone.
package server
