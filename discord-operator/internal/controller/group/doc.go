// SPDX-License-Identifier: Apache-2.0

// Package group reconciles DiscordGroup objects: the categories of a server. A deleted group waits
// for the channels that refer to it.
package group
