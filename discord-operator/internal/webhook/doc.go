// SPDX-License-Identifier: Apache-2.0

// Package webhook is the webhook of a DiscordChannel and the Secret with its URL.
//
// The webhook is the channel's own if the status or this process knows it, or if this bot has made
// one of its name: that is what a create whose response was lost has left. Its URL is in Discord's
// response alone, so a webhook whose URL no response has shown counts only while its Secret stands.
// The Secret is compared by metadata: an annotation names the webhook, managedFields show whether
// another client has changed the URL.
package webhook
