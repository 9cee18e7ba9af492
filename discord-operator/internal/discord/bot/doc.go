// SPDX-License-Identifier: Apache-2.0

// Package bot keeps one connection to Discord for each bot token that a DiscordServer names, on the
// leader only, and says what an object may use of its server.
//
// Servers that share a token share a bot: one Gateway connection, one account of rate limits, one
// live view of each guild. A reconcile asks for the bot of its server. Where the token's Secret has
// changed since (its metadata says so, the data is read only then, from the API server), the server
// moves to another bot; a bot without a server is disconnected.
package bot
