// SPDX-License-Identifier: Apache-2.0

// Package channel reconciles DiscordChannel objects.
//
// A channel needs, in this order: its server to be Available and, where it names one, its group to
// exist; its channel on Discord, bound or created once with everything that the spec says; the
// settings that the spec names, corrected by one edit; its place among its siblings; and, where
// asked for, a webhook and a Secret with the webhook's URL (package webhook).
//
// The package has the fields of a channel, its state, plan, status and watches. Package lifecycle manages
// the channel on Discord. Discord is read from memory, so a channel that matches its spec costs no call.
package channel
