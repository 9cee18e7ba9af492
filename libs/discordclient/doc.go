// SPDX-License-Identifier: Apache-2.0

// Package discordclient calls Discord's REST API for an operator. It never sleeps, never repeats a
// create and never reveals a secret.
//
// The module is internal to the project: other modules may import it, but each version may change
// its API.
//
//	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret(token)})
//	ch, err := c.CreateChannel(ctx, guildID, discordclient.ChannelCreate{Name: "alerts"}, "uid-of-the-object")
//	switch discordclient.ClassOf(err) {
//	case discordclient.ClassRateLimited:   // wait for the time in *RateLimited, then call again
//	case discordclient.ClassUnknown:       // the channel may exist: call recovery.Channel first
//	}
//
// One method is one HTTP request. The package does not cache guilds. Most callers use package
// guildcache, which caches them. Package recovery finds the object of a create whose response was
// lost.
//
// # Guarantees for every call
//
// A call that a rate limit forbids returns immediately. This package repeats no call. net/http may
// repeat a create or an edit only when nothing of it was sent, and a read or a delete once when its
// connection fails. A call goes to the configured host only; redirects are not followed. An error
// has one of eight classes (see [Class]) and names the field that Discord rejects. No error, log
// line, metric or printed value contains the bot's token or a webhook's URL; only [Secret.Reveal]
// returns them. Once Discord has refused the token, the Client sends no further call.
//
// # Use of discordgo (v0.29.0)
//
// This package uses discordgo's endpoints, error codes, permission bits, Gateway intents and
// GatewayBotResponse, and its constants for the types of channels, overwrites, webhooks and audit
// log entries.
//
// It does not use discordgo's request code, which sleeps on a rate limit, repeats a POST on 502 and
// puts tokens into errors. It does not use discordgo's Gateway session, which retries fatal close
// codes for ever, deadlocks on op 7 or op 11 before READY, and notices a dead connection only after
// five missed heartbeats.
//
// It does not use most of discordgo's entities, such as Channel. They have every field, so decoding
// a list fails when a field that this project does not need (such as last_pin_timestamp) changes
// its form. Each entity also has a defect of its own: Channel has no default_auto_archive_duration,
// Role no tags, Guild no safety_alerts_channel_id, Webhook prints its token, AuditLogEntry reads
// only one form of options, PermissionOverwrite and UserGuild have no named bits, and an edit
// cannot clear a field.
package discordclient
