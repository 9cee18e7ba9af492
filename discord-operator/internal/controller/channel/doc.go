// SPDX-License-Identifier: Apache-2.0

// Package channel reconciles DiscordChannel objects.
//
// A channel needs, in this order: an Available server and, if it names one, a group with a
// category; its channel on Discord, bound or created once with all fields; corrected fields, by one
// edit; its place among its siblings; and a webhook with its Secret (package webhook).
//
// Package lifecycle manages the channel on Discord. Reads come from memory, so a channel that
// matches its spec costs no call.
package channel
