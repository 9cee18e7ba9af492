// SPDX-License-Identifier: Apache-2.0

// Package bot keeps one connection to Discord per bot token, on the leader only, and says what an
// object may use of its server.
//
// Servers with the same token share a bot: one Gateway connection, one account of rate limits, one
// live view of each guild. When a token's Secret has changed by its metadata, its data is read from
// the API server, and the server moves to another bot. A bot without a server is disconnected.
package bot
