// SPDX-License-Identifier: Apache-2.0

// Package bot keeps one connection to Discord per bot token, on the leader only, and decides how an
// object may use its server.
//
// Servers with the same token share a bot: one Gateway connection, one count of rate limits, and
// one live view of each guild. If the metadata of a token's Secret has changed, the Secret's data
// is read from the API server, and the server moves to another bot. A bot without servers
// disconnects.
package bot
