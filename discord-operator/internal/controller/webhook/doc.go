// SPDX-License-Identifier: Apache-2.0

// Package webhook manages the webhook of a DiscordChannel and the Secret with its URL.
//
// A webhook is the channel's own if this process, the status or the Secret names it (known.go), or
// if the audit log proves that it was created for the object (audit.go). If the audit log lacks the
// create, the operator uses this bot's webhook with the right name. It assumes that a create whose
// response was lost has made that webhook.
//
// Only Discord's responses contain the URL of a webhook. If a response lacks the URL, the operator
// keeps the webhook only while its Secret is intact. The operator compares the Secret by its
// metadata: an annotation has the webhook's id, and managedFields show whether another client has
// changed the URL.
package webhook
