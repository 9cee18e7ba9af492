// SPDX-License-Identifier: Apache-2.0

// Package bot keeps one Discord connection per bot token, on the leader only. DiscordServers with
// the same token share the connection, its rate limits and its view of each guild. The package
// reads a token again when its Secret changes, and checks the bot's permissions.
package bot
