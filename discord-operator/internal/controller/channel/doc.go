// SPDX-License-Identifier: Apache-2.0

// Package channel reconciles DiscordChannel objects.
//
// A DiscordChannel needs, in this order: an Available server; a group with a category, if the spec
// names a group; a channel on Discord, bound or created once with all fields; corrected fields, by
// one edit; a place among the siblings; and a webhook with its Secret (package webhook).
//
// Package lifecycle manages the channel on Discord. Reads come from memory, so a channel that
// matches its spec costs no call.
package channel
