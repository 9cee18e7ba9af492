// SPDX-License-Identifier: Apache-2.0

// Command live compares a Discord with discordtest, the simulated Discord: `make discord-live`.
// docs/contribute/discord-live.md explains how to run it.
//
// It performs the same steps twice, with the real operator on a test cluster: first against
// discordtest, then against the Discord of a bot's token. All requests of both runs pass through a
// proxy in this process. The proxy
//
//   - refuses every write outside of the run's own category, channels, roles and webhooks,
//   - records the responses, without secrets and without objects of other users,
//   - drops the response to a create if a step asks for it.
//
// The differences between the two recordings are written as a Markdown table.
//
//	steps.go      the steps, with the sentences that describe them
//	world.go      objects in Kubernetes, and waits
//	proxy.go      the proxy; route.go names calls, guard.go permits or refuses them
//	record.go     turns responses into comparable fields; compare.go finds their differences
//	bot.go        calls with the bot's token; access.go its permissions; cleanup.go the clean-up
//	conduct.go    one run against one Discord; simulated.go starts discordtest
package main
