// SPDX-License-Identifier: Apache-2.0

// Command live (`make discord-live`) performs the same steps with the operator against the real
// Discord and against discordtest, the simulated Discord. It prints the differences between the
// responses. A proxy records the responses, and refuses writes to objects that the run did not
// create. See docs/contribute/discord-live.md.
package main
