// Package session keeps one connection to Discord for each bot token that a DiscordServer names, on the leader only.
//
// Servers that share a token share a bot: one Gateway connection, one account of rate limits, one live view of each guild. A
// pass asks for the session of its server; where the token's Secret has changed since (its metadata says so, the data is read only
// then, straight from the API server) the server moves to another bot, and a bot that no server uses any more is let go.
//
// Whoever needs to know what happens on Discord subscribes once to the events of all bots.
package session
