// SPDX-License-Identifier: Apache-2.0

// Command live compares a Discord with discordtest: `make discord-live`. docs/contribute/discord-live.md
// says how to run it.
//
// It performs the same steps twice, with the real operator on a test cluster: first against
// discordtest, then against the Discord of a bot's token. All requests of both runs pass a proxy in
// this process. The proxy
//
//   - refuses every write outside of the run's own category, channels, roles and webhooks,
//   - records the answers, without secrets and without objects of other users,
//   - drops the answer to a create on request.
//
// The differences between both recordings are written as a table in Markdown.
//
//	steps.go      the steps, with the sentences that describe them
//	world.go      objects in Kubernetes, and waits
//	proxy.go      the proxy; route.go names calls, guard.go permits them
//	record.go     answers as comparable fields; compare.go their differences, as a table
//	bot.go        the bot as a second client; access.go its rights; cleanup.go removes everything
//	conduct.go    one run against one Discord; simulated.go starts discordtest
package main
