// SPDX-License-Identifier: Apache-2.0

// Package server reconciles DiscordServer objects.
//
// A server needs, in this order: a bot token that Discord accepts; a guild with the bot in it, and
// without another managing DiscordServer; the permissions for its settings, groups and channels;
// and corrected fields, by one edit. Groups and channels continue as soon as the server is
// Available, even if a field is refused.
//
// A guild is never created, and its claims have weights. So only records of responses and the
// deletion come from package lifecycle.
package server
