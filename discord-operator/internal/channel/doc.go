// SPDX-License-Identifier: Apache-2.0

// Package channel reconciles DiscordChannel objects.
//
// A channel needs, in this order: its server to be Available and, where it names one, its group to
// exist; its channel on Discord, bound or created once with everything that the spec says; the
// settings that the spec names, corrected by one edit; its place among its siblings; and, where
// asked for, a webhook and a Secret with the webhook's URL (package webhook).
//
// It is only what a channel differs in: what is observed, its plan, its status and its watches. The
// life of the channel is package lifecycle's. Discord is read from memory, so a channel that matches
// its spec costs no call.
package channel
