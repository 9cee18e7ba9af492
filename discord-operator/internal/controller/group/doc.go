// SPDX-License-Identifier: Apache-2.0

// Package group reconciles DiscordGroup objects: the categories of a server. Package lifecycle
// manages the category on Discord. A deleted group waits for the channels that refer to it.
package group
