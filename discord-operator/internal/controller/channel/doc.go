// SPDX-License-Identifier: Apache-2.0

// Package channel reconciles DiscordChannel objects.
//
// A reconcile waits for an Available DiscordServer and, if the spec names a DiscordGroup, for the
// group's category. It finds the channel on Discord, or creates it once with all fields that a
// create accepts. Then it corrects drifted fields by one edit and moves the channel to its
// position. Finally it provides the webhook and the webhook's Secret (package webhook).
//
// Package lifecycle manages the channel on Discord. The reconciler reads from the guild cache in
// memory, so a channel without drift costs no call to Discord.
package channel
