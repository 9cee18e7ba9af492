// SPDX-License-Identifier: Apache-2.0

// Package webhook is the webhook of a DiscordChannel and the Secret with its URL.
//
// The webhook is the channel's own if this process, the status or the Secret names it (known.go), if
// the audit log proves that it was created for the object (audit.go), or, where that log does not show
// who created it, if this bot has created one of its name: a create whose response was lost has left
// it. Its URL is in Discord's response alone, so a webhook whose URL no response has shown counts only
// while its Secret stands.
// The Secret is compared by metadata: an annotation names the webhook, managedFields show whether
// another client has changed the URL.
package webhook
